package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cgroupMount is where Linux shows control groups, version 2 alone or beside version 1.
const cgroupMount = "/sys/fs/cgroup"

// control limits processes through control groups (cgroup v2), where this
// process may make groups that have a memory controller; otherwise why tells.
type control struct {
	dir string // the group to make groups in; empty: nothing is limited
	why string
}

// Limits tells whether a declared memory limit is enforced on this machine,
// and if not, why not and what would help.
func (s *Server) Limits() (enforced bool, why string) { return s.control.dir != "", s.control.why }

// findControl looks for a control group to make groups in: dir when it is
// given, else this process's own, else the one above (systemd makes such a
// pair with Delegate=yes and DelegateSubgroup=).
func findControl(dir string) control {
	candidates := []string{dir}
	if dir == "" {
		own, err := ownCgroup()
		if err != nil {
			return control{why: "memory limits are not enforced: " + err.Error()}
		}
		candidates = []string{own}
		if own != cgroupMount {
			candidates = append(candidates, filepath.Dir(own))
		}
	}
	var why []string
	for _, c := range candidates {
		err := delegated(c)
		if err == nil {
			return control{dir: c}
		}
		why = append(why, err.Error())
	}
	return control{why: "memory limits are not enforced: " + strings.Join(why, "; ") +
		" (a systemd unit gets such a group with Delegate=memory and DelegateSubgroup=platform)"}
}

// ownCgroup is the directory of this process's group in the version 2 hierarchy.
func ownCgroup() (string, error) {
	text, err := os.ReadFile(filepath.Join(procDir, "self/cgroup"))
	if err != nil {
		return "", errors.New("this machine has no control groups")
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join(cgroupMount, path), nil
		}
	}
	return "", errors.New("this machine has control groups of version 1 alone")
}

// delegated checks that groups with a memory controller can be made in dir,
// and turns the controller on for them.
func delegated(dir string) error {
	offered, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is no control group of version 2", dir)
	}
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(string(offered)), "memory") {
		return fmt.Errorf("%s has no memory controller", dir)
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+memory"), 0); err != nil {
		return err // EBUSY: it has processes of its own; EACCES: it is another's
	}
	probe, err := os.MkdirTemp(dir, "platform-probe-")
	if err != nil {
		return err
	}
	return os.Remove(probe)
}

// path is the group of a process; empty when nothing is limited.
func (c control) path(name, mark string) string {
	if c.dir == "" {
		return ""
	}
	return filepath.Join(c.dir, "platform-"+name+"-"+mark)
}

// admit makes the group, limits it and puts a process into it, with all that
// the process will start. Nothing happens without a path.
func (c control) admit(path string, pid int, memory int64) error {
	if path == "" {
		return nil
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(path, "memory.max"), []byte(strconv.FormatInt(memory, 10)), 0); err != nil {
		return err
	}
	// Both are absent on some kernels, and the limit holds without them: no
	// swap in its place; all of a service is killed or nothing, since half helps nobody.
	_ = os.WriteFile(filepath.Join(path, "memory.swap.max"), []byte("0"), 0)
	_ = os.WriteFile(filepath.Join(path, "memory.oom.group"), []byte("1"), 0)
	return c.place(path, pid)
}

// place puts a process into the group.
func (c control) place(path string, pid int) error {
	return os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

// remove kills what is left in a group and removes it, once the killed are gone.
func (c control) remove(path string) error {
	if path == "" {
		return nil
	}
	// Kernels before 5.14 do not know this; the group's processes were killed one by one already.
	_ = os.WriteFile(filepath.Join(path, "cgroup.kill"), []byte("1"), 0)
	for end := time.Now().Add(killTime); ; {
		err := os.Remove(path)
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist):
			return nil
		case !errors.Is(err, syscall.EBUSY), time.Now().After(end):
			return err
		}
		<-time.After(10 * time.Millisecond)
	}
}
