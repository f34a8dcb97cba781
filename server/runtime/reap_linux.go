package runtime

import (
	"errors"
	"os/exec"

	"golang.org/x/sys/unix"
)

// collect waits until a child has ended, does last, and collects it. Until it
// is collected, its number and its group's are given to nobody else.
func collect(child *exec.Cmd, last func()) error {
	for errors.Is(unix.Waitid(unix.P_PID, child.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		continue
	}
	last()
	return child.Wait()
}
