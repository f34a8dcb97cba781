package window_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reader is a program that says when a window opens.
const reader = `package main

import (
	"fmt"
	"time"

	"platform.dev/platform/flowclient/window"
)

func main() {
	w, err := window.Parse("Mon-Fri 09:00-17:00 Europe/London")
	opens, _ := w.Next(time.Date(2026, 7, 4, 12, 0, 0, 0, time.UTC))
	fmt.Print(opens.Format(time.RFC3339), err)
}
`

// A binary of this package is run where there is not one file but itself: no
// zone files, no Go. Where the kernel lets nobody shut a process in, what is
// left to look at is that the zones are linked into the binary.
func TestABinaryKnowsTheZonesOnAMachineWithoutZoneFiles(t *testing.T) {
	empty := t.TempDir()
	source, binary := filepath.Join(t.TempDir(), "main.go"), filepath.Join(empty, "reader")
	require.NoError(t, os.WriteFile(source, []byte(reader), 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)

	run := exec.CommandContext(t.Context(), "/reader")
	run.Env, run.Dir = []string{}, "/"
	run.SysProcAttr = &syscall.SysProcAttr{Chroot: empty}
	if os.Geteuid() != 0 {
		run.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		run.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	}
	said, err = run.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		linked, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "platform.dev/platform/flowclient/window").Output()
		require.NoError(t, err)
		assert.Contains(t, strings.Fields(string(linked)), "time/tzdata")
		return
	}
	require.NoError(t, err, "%s", said)
	assert.Equal(t, "2026-07-06T08:00:00Z<nil>", string(said))
}
