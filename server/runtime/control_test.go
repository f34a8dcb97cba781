package runtime

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cgroupVariable names a control group (version 2) that a test may make groups
// in, with a memory controller and no processes of its own.
const cgroupVariable = "PLATFORM_TEST_CGROUP"

func TestWhetherLimitsAreEnforcedIsSaidPlainly(t *testing.T) {
	w := newWorkshop(t)
	d := w.server("v1")
	d.Memory = 256 << 20
	status := w.runs(d)
	enforced, why := w.Limits()
	if enforced {
		assert.Empty(t, why)
		assert.NotContains(t, status.Message, "limit")
		return
	}
	assert.Contains(t, why, "memory limits are not enforced: ")
	assert.Contains(t, status.Message, "its memory limit of 256 MiB is not kept: "+why)
}

func TestADirectoryThatCannotLimitSaysWhy(t *testing.T) {
	plain, without := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(without, "cgroup.controllers"), []byte("cpu io\n"), 0o600))
	for dir, want := range map[string]string{
		plain:                          plain + " is no control group of version 2",
		without:                        without + " has no memory controller",
		filepath.Join(plain, "absent"): "is no control group of version 2",
	} {
		c := findControl(dir)
		assert.Empty(t, c.dir)
		assert.Contains(t, c.why, want)
		assert.Contains(t, c.why, "Delegate=memory", "what would help")
		assert.Empty(t, c.path("web", "1"))
		require.NoError(t, c.admit("", os.Getpid(), 1<<20), "nothing is limited, nothing fails")
	}
}

func TestAProcessThatTakesMoreMemoryThanItsLimitIsKilled(t *testing.T) {
	dir := os.Getenv(cgroupVariable)
	if c := findControl(dir); c.dir == "" {
		t.Skipf("%s; set %s to a group that can limit", c.why, cgroupVariable)
	}
	w := newWorkshop(t, func(c *Config) {
		c.Cgroup = dir
	})
	d := w.script(`x=$(head -c 200000000 /dev/zero | tr '\0' a); exec "$TEST_BINARY"`)
	d.Memory = 64 << 20
	status := w.stands(d, ReasonCrashLoopBackOff)
	assert.Contains(t, status.Message, "signal: killed")
	require.NoError(t, w.Remove(t.Context(), d.Name))
	left, err := filepath.Glob(filepath.Join(w.control.dir, "platform-shop-web-staging-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestAControlGroupIsRemovedWithWhatIsInIt(t *testing.T) {
	dir := os.Getenv(cgroupVariable)
	for _, candidate := range []string{cgroupMount, filepath.Join(cgroupMount, "unified")} {
		if _, err := os.Stat(filepath.Join(candidate, "cgroup.controllers")); dir == "" && err == nil {
			dir = candidate
		}
	}
	group := filepath.Join(dir, "platform-test-"+filepath.Base(t.TempDir()))
	if err := os.Mkdir(group, 0o755); dir == "" || err != nil {
		t.Skipf("no control group can be made (%v); set %s to one that can have others", err, cgroupVariable)
	}
	cmd := exec.Command("tail", "-f", "/dev/null")
	require.NoError(t, cmd.Start())
	require.NoError(t, control{}.place(group, cmd.Process.Pid))
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	require.NoError(t, control{}.remove(group))
	assert.ErrorContains(t, <-ended, "killed")
	_, err := os.Stat(group)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, control{}.remove(group), "again")
}
