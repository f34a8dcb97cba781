package exec

import "syscall"

// ownGroup makes a process the first of a group of its own, which ends with us
// even when we are killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
