package runtime

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// procDir is where Linux shows its processes. On a machine without it nothing
// is measured, and what a killed platform left running is not found.
const procDir = "/proc"

// ticksPerSecond is the unit of times in /proc: USER_HZ, 100 on every
// architecture that Go runs on under Linux.
const ticksPerSecond = 100

// stat is what /proc/<pid>/stat tells of a process.
type stat struct {
	pid, group int
	dead       bool   // ended, and not yet collected by its parent
	started    string // clock ticks since the machine's start: with pid it names a process for good
	ticks      int64  // CPU used, with that of its collected children
	pages      int64  // resident
}

// readStat reads one process; false when there is none.
func readStat(pid int) (stat, bool) {
	text, err := os.ReadFile(filepath.Join(procDir, strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, false
	}
	return parseStat(pid, string(text))
}

// parseStat takes a stat line apart. The second field, the program's name, may
// hold anything and ends with the last closing parenthesis; see proc_pid_stat(5).
func parseStat(pid int, text string) (stat, bool) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 22 {
		return stat{}, false
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(fields[field-3], 10, 64) // the kernel's own decimal
		return n
	}
	return stat{
		pid: pid, group: int(number(5)), dead: fields[0] == "Z" || fields[0] == "X", started: fields[19],
		ticks: number(14) + number(15) + number(16) + number(17), pages: number(24),
	}, true
}

// processes lists what runs on this machine.
func processes() ([]stat, error) {
	dir, err := os.Open(procDir)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []stat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue // not a process
		}
		if st, ok := readStat(pid); ok && !st.dead {
			all = append(all, st)
		}
	}
	return all, nil
}

// bootID names the time since the machine's start, since start times count
// from there; empty where the machine does not tell.
func bootID() string {
	text, err := os.ReadFile(filepath.Join(procDir, "sys/kernel/random/boot_id"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// carries tells whether a process was started with the variable in its environment.
func carries(pid int, variable string) bool {
	text, err := os.ReadFile(filepath.Join(procDir, strconv.Itoa(pid), "environ"))
	return err == nil && slices.ContainsFunc(bytes.Split(text, []byte{0}), func(v []byte) bool { return string(v) == variable })
}

// worksIn tells whether a process works in dir or below.
func worksIn(pid int, dir string) bool {
	cwd, err := os.Readlink(filepath.Join(procDir, strconv.Itoa(pid), "cwd"))
	if err != nil {
		return false
	}
	below, err := filepath.Rel(dir, strings.TrimSuffix(cwd, " (deleted)"))
	return err == nil && filepath.IsLocal(below)
}

// listens tells whether a process of the group listens on the TCP port. Where
// the machine does not tell, the answer is yes.
func listens(group, port int) bool {
	sockets, err := listeners(port)
	if err != nil {
		return true
	}
	all, err := processes()
	if err != nil {
		return true
	}
	for _, st := range all {
		if st.group != group {
			continue
		}
		fds, err := filepath.Glob(filepath.Join(procDir, strconv.Itoa(st.pid), "fd", "*"))
		if err != nil {
			continue // never: the pattern is well formed
		}
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && slices.Contains(sockets, to) {
				return true
			}
		}
	}
	return false
}

// listeners are the sockets that listen on a TCP port, as descriptors link to them.
func listeners(port int) ([]string, error) {
	const listening = "0A" // TCP_LISTEN
	suffix := fmt.Sprintf(":%04X", port)
	var sockets []string
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		text, err := os.ReadFile(filepath.Join(procDir, table))
		if err != nil && table == "net/tcp6" {
			continue // a machine without IPv6
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) > 9 && strings.HasSuffix(f[1], suffix) && f[3] == listening {
				sockets = append(sockets, "socket:["+f[9]+"]")
			}
		}
	}
	return sockets, nil
}
