package gitcmd_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/gitea/gitcmd"
)

func runner(t *testing.T) *gitcmd.Runner {
	t.Helper()
	r, err := gitcmd.New(filepath.Join(t.TempDir(), "home"), 2)
	require.NoError(t, err)
	return r
}

func TestAProcessSeesNothingOfOurEnvironment(t *testing.T) {
	t.Setenv("GIT_AUTHOR_NAME", "Somebody Else")
	t.Setenv("PLATFORM_SECRET", "hidden")
	out, err := runner(t).Run(t.Context(), gitcmd.Call{
		Args:     []string{"-c", "alias.env=!env", "env"},
		Settings: []gitcmd.Setting{{Key: "http.extraHeader", Value: "Authorization: x"}},
	})
	require.NoError(t, err)
	assert.NotContains(t, string(out), "hidden")
	assert.NotContains(t, string(out), "Somebody Else")
	assert.Contains(t, string(out), "GIT_CONFIG_VALUE_0=Authorization: x", "settings travel in the environment")
}

func TestAnExitCarriesWhatGitWrote(t *testing.T) {
	_, err := runner(t).Run(t.Context(), gitcmd.Call{Args: []string{"rev-parse", "HEAD"}, GitDir: t.TempDir()})
	var exit *gitcmd.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 128, exit.Code)
	assert.True(t, gitcmd.Says(err, "not a git repository"), "%v", err)
}

func TestOutputPastTheLimitIsAnError(t *testing.T) {
	_, err := runner(t).Run(t.Context(), gitcmd.Call{Args: []string{"version"}, Output: 4})
	require.ErrorIs(t, err, gitcmd.ErrOutput)
}

func TestAProcessGroupEndsWithItsContext(t *testing.T) {
	pidfile := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := runner(t).Run(ctx, gitcmd.Call{Args: []string{"-c", "alias.nap=!echo $$ > " + pidfile + "; sleep 600", "nap"}})
		done <- err
	}()
	require.Eventually(t, func() bool { b, _ := os.ReadFile(pidfile); return bytes.HasSuffix(b, []byte("\n")) }, 10*time.Second, 5*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	pid, err := os.ReadFile(pidfile)
	require.NoError(t, err)
	proc := filepath.Join("/proc", strings.TrimSpace(string(pid)))
	require.Eventually(t, func() bool { _, err := os.Stat(proc); return os.IsNotExist(err) }, 10*time.Second, 5*time.Millisecond, "the shell that git started has ended too")
}

func TestATimeLimitIsHeld(t *testing.T) {
	_, err := runner(t).Run(t.Context(), gitcmd.Call{Args: []string{"-c", "alias.nap=!sleep 600", "nap"}, Timeout: 50 * time.Millisecond})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
