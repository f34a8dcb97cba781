package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// processRecord is the file of a process: written before its program runs,
// removed after the last of its group has ended. It says enough to find the
// group again, and never to take another for it.
type processRecord struct {
	Name    string `json:"name"`              // of the deployment
	PID     int    `json:"pid"`               // of the leader
	Group   int    `json:"group"`             // equal to PID
	Started string `json:"started"`           // the leader's start time in clock ticks
	Boot    string `json:"boot"`              // the machine's start that Started counts from
	Mark    string `json:"mark"`              // value of markVariable, unique
	Dir     string `json:"dir"`               // its files, its own
	Control string `json:"control,omitempty"` // its control group
}

// markVariable is the variable by which descendants are known that have left
// their process group. It is in the environment of every process.
const markVariable = "PLATFORM_PROCESS"

// killTime bounds the wait for killed processes to be gone.
const killTime = 10 * time.Second

func (s *Server) processesDir() string { return filepath.Join(s.cfg.Dir, "processes") }
func (s *Server) workDir() string      { return filepath.Join(s.cfg.Dir, "work") }

func (s *Server) processFile(r processRecord) string {
	return filepath.Join(s.processesDir(), r.Name+"."+r.Mark+".json")
}

// recordProcess writes the record: whole and on disk, or not at all.
func (s *Server) recordProcess(r processRecord) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record process of %s: %w", r.Name, err)
	}
	if err := replaceFile(s.processFile(r), text); err != nil {
		return fmt.Errorf("record process of %s: %w", r.Name, err)
	}
	return nil
}

// forgetProcess removes what belongs to a process that has ended, its record last.
func (s *Server) forgetProcess(r processRecord) error {
	err := errors.Join(os.RemoveAll(r.Dir), s.control.remove(r.Control))
	if err != nil {
		return fmt.Errorf("clear away process of %s: %w", r.Name, err)
	}
	if err := os.Remove(s.processFile(r)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clear away process of %s: %w", r.Name, err)
	}
	return nil
}

// clearLeftovers kills what an earlier runtime on this directory left running,
// waits until it is gone and removes its files. A process that cannot be killed
// is told of and tried again at the next start: it holds up nothing.
func (s *Server) clearLeftovers(ctx context.Context) error {
	records, err := s.leftovers()
	if err != nil {
		return err
	}
	for _, r := range records {
		killed, err := r.clear(ctx)
		if err == nil {
			err = s.forgetProcess(r)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.cfg.Log.Error("leftover process not cleared away", "name", r.Name, "group", r.Group, "err", err)
		case killed > 0:
			s.cfg.Log.Warn("leftover processes killed", "name", r.Name, "group", r.Group, "count", killed)
		}
	}
	if err := os.RemoveAll(s.workDir()); err != nil { // with copies that no process was started in
		return err
	}
	return os.MkdirAll(s.workDir(), 0o700)
}

// leftovers reads the records of an earlier runtime's processes.
func (s *Server) leftovers() ([]processRecord, error) {
	entries, err := os.ReadDir(s.processesDir())
	if err != nil {
		return nil, fmt.Errorf("read processes: %w", err)
	}
	var records []processRecord
	for _, e := range entries {
		file := filepath.Join(s.processesDir(), e.Name())
		if !strings.HasSuffix(e.Name(), ".json") {
			// A write that a crash cut short: that process never ran its program.
			if err := os.Remove(file); err != nil {
				return nil, fmt.Errorf("read processes: %w", err)
			}
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read process: %w", err)
		}
		var r processRecord
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("read process %s: %w", e.Name(), err)
		}
		records = append(records, r)
	}
	return records, nil
}

// clear kills what is left of the process's group and of its descendants,
// waits until all are gone and tells how many there were. Process ids are used
// again, so only these are killed: the group while its leader is there with
// the recorded start time, its members that work in the process's own files,
// and whatever carries the mark.
func (r processRecord) clear(ctx context.Context) (killed int, err error) {
	if r.Boot != bootID() || r.Started == "" {
		return 0, nil // of before the machine's start; or a machine that does not tell
	}
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	seen := map[int]string{}
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		all, err := processes()
		if err != nil {
			return len(seen), err
		}
		led := r.led()
		living := r.among(all, led, seen)
		if len(living) == 0 {
			return len(seen), nil
		}
		if led {
			_ = syscall.Kill(-r.Group, syscall.SIGKILL) // at once, so that none forks out of it
		}
		for _, st := range living {
			seen[st.pid] = st.started
			// Gone meanwhile, or not ours to kill: the next look tells.
			_ = syscall.Kill(st.pid, syscall.SIGKILL)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return len(seen), fmt.Errorf("kill what is left of %s (process group %d, %d processes): %w", r.Name, r.Group, len(living), ctx.Err())
		}
	}
}

// led tells whether the leader is there, dead or alive: so long, its number and
// its group's are nobody else's.
func (r processRecord) led() bool {
	leader, there := readStat(r.PID)
	return there && leader.started == r.Started
}

// among picks the record's processes from all, and those seen before.
func (r processRecord) among(all []stat, led bool, seen map[int]string) []stat {
	var own []stat
	for _, st := range all {
		switch {
		case st.group == r.Group && (led || worksIn(st.pid, r.Dir)), seen[st.pid] == st.started, carries(st.pid, markVariable+"="+r.Mark):
			own = append(own, st)
		}
	}
	return own
}
