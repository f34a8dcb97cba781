package workflow

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
		return killGroup(g.pgid) == nil
	case "":
		return g.clearOrphans()
	}
	return false
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
