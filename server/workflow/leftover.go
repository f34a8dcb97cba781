package workflow

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// group is a process group that a run has started.
type group struct {
	run     string
	pgid    int    // the leader's process id
	started string // the leader's start time, as processStart gives it
	dir     string // the build directory it works in
}

// clear kills what is left of a group of the engine's previous life. Process
// ids are used again, so it kills only what is surely the run's: the whole
// group while its leader is there with the recorded start time; and when the
// leader is gone, the members that work in the run's build directory.
func (g group) clear(ctx context.Context) (killed bool) {
	if g.started == "" {
		return false
	}
	switch processStart(ctx, g.pgid) {
	case g.started:
		killed = killGroup(g.pgid) == nil
	case "":
		killed = g.clearOrphans()
	}
	return stragglers(g.dir) > 0 || killed
}

// clearOrphans kills members of a leaderless group that work in the run's
// build directory. It needs /proc; elsewhere they run to their own end.
func (g group) clearOrphans() (killed bool) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return false
	}
	for _, path := range stats {
		fields := statFields(path)
		if len(fields) < 3 || fields[2] != strconv.Itoa(g.pgid) {
			continue
		}
		cwd, err := os.Readlink(filepath.Join(filepath.Dir(path), "cwd"))
		if err != nil || !within(g.dir, strings.TrimSuffix(cwd, " (deleted)")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed = true
		}
	}
	return killed
}

// stragglers kills the processes of a run that have left its process group, as
// daemons do: those that work in its build directory, or were started with the
// home that it gives to its programs alone. A program that changes both has
// hidden itself; processes are no sandbox. It needs /proc; elsewhere they run
// to their own end.
func stragglers(dir string) (killed int) {
	for range maxSweeps { // a process that is just starting another is seen the next time
		found := 0
		procs, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			return killed
		}
		for _, proc := range procs {
			pid, err := strconv.Atoi(filepath.Base(proc))
			if err != nil || pid == os.Getpid() || !belongs(proc, dir) {
				continue
			}
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				found++
			}
		}
		if found == 0 {
			break
		}
		killed += found
	}
	return killed
}

// maxSweeps bounds a race with a program that does nothing but start others.
const maxSweeps = 20

// belongs tells whether a process works in a build directory or has its home there. The dead do not.
func belongs(proc, dir string) bool {
	if fields := statFields(filepath.Join(proc, "stat")); len(fields) == 0 || fields[0] == "Z" {
		return false
	}
	if cwd, err := os.Readlink(filepath.Join(proc, "cwd")); err == nil && within(dir, strings.TrimSuffix(cwd, " (deleted)")) {
		return true
	}
	environ, err := os.ReadFile(filepath.Join(proc, "environ"))
	return err == nil && slices.Contains(strings.Split(string(environ), "\x00"), homeOf(dir))
}

// processStart is when a process started, in the system's own words; empty when there is no such process.
func processStart(ctx context.Context, pid int) string {
	if fields := statFields("/proc/" + strconv.Itoa(pid) + "/stat"); len(fields) > 19 {
		if fields[0] == "Z" {
			return "" // dead, and not yet collected
		}
		return fields[19]
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		return ""
	}
	out, err := exec.CommandContext(ctx, "ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// statFields are the fields of a /proc/<pid>/stat file from the third on (state, parent, group, ...):
// the second, the name, may hold blanks and ends with the last closing parenthesis.
func statFields(path string) []string {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	_, rest, ok := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	if !ok {
		return nil
	}
	return strings.Fields(rest)
}

// within tells whether path is dir or below it; both are clean.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
