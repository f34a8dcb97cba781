//go:build !linux

package runtime

import "os/exec"

// collect waits until a child has ended, and does last. A wait that leaves the
// child to be collected is Linux's; elsewhere its number is free by then, for
// as long as it takes to call last.
func collect(child *exec.Cmd, last func()) error {
	err := child.Wait()
	last()
	return err
}
