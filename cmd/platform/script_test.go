package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures/goldenfile"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"platform": main})
}

// The scripts run the whole product as a person does: the binary, its output
// and its exit codes.
func TestScripts(t *testing.T) {
	deploy, err := filepath.Abs(filepath.Join("..", "..", "deploy"))
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("..", "..", "fixtures", "scripts"),
		UpdateScripts: goldenfile.Update(),
		Setup: func(e *testscript.Env) error {
			// Only what a process needs: the person's own settings do not matter.
			// A script types faster than a person may.
			e.Vars = append(e.Vars, "HOME="+e.WorkDir, "DEPLOY="+deploy, "PLATFORM_COMMAND_RATE=0")
			if curl := os.Getenv(testCurl); curl != "" {
				e.Setenv("PATH", filepath.Dir(curl)+string(os.PathListSeparator)+e.Getenv("PATH"))
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "sender" { // what the scripts of deploy send with
				return len(senders()) > 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"waitfor":    waitFor,
			"eventually": eventually,
			"exits":      exitsWith,
			"orphans":    orphans,
			"killhard":   killHard,
		},
	})
}

// waitFor FILE [TEXT]: until the file exists, and holds the text.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: waitfor FILE [TEXT]")
	}
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := os.Stat(ts.MkAbs(args[0]))
		if err == nil && len(args) == 1 {
			return
		}
		if text, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(text), strings.Join(args[1:], " ")) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			ts.Fatalf("waited a minute for %s", strings.Join(args, " "))
		}
	}
}

// eventually TEXT PROGRAM ARGS...: run the program again and again until it prints the text.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually TEXT PROGRAM ARGS...")
	}
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := ts.Exec(args[1], args[2:]...); err == nil && strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			ts.Fatalf("waited a minute for %s to print %q", strings.Join(args[1:], " "), args[0])
		}
	}
}

// exits CODE PROGRAM ARGS...: run the program, which ends with this exit code.
func exitsWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%s ended with exit code %d, not %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// orphans: processes whose working directory is within the script's; "! orphans" wants none.
func orphans(ts *testscript.TestScript, neg bool, _ []string) {
	if !neg {
		ts.Fatalf("usage: ! orphans")
	}
	var left []string
	for range 100 {
		if left = processesBelow(ts.MkAbs(".")); len(left) == 0 {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	ts.Fatalf("processes were left behind: %s", strings.Join(left, ", "))
}

// processesBelow lists the processes that work below dir or hold a file there open, but not this one.
func processesBelow(dir string) []string {
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var found []string
	for _, p := range procs {
		pid := filepath.Base(p)
		if pid == strconv.Itoa(os.Getpid()) {
			continue
		}
		links, _ := filepath.Glob(p + "/fd/*")
		for _, l := range append(links, p+"/cwd") {
			if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, dir) {
				cmdline, _ := os.ReadFile(p + "/cmdline")
				found = append(found, fmt.Sprintf("%s (%s, %s)", pid, strings.ReplaceAll(string(cmdline), "\x00", " "), to))
				break
			}
		}
	}
	return found
}

// killHard DIR: SIGKILL to the platform that holds the data directory.
func killHard(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: killhard DIR")
	}
	text, err := os.ReadFile(filepath.Join(ts.MkAbs(args[0]), "platform.pid"))
	ts.Check(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
}
