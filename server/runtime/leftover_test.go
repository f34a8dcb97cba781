package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hosted is what a host runs, as JSON in the environment.
type hosted struct {
	Dir        string
	Deployment Deployment
}

const hostedVariable = "RUNTIME_TEST_HOSTED"

// host is a runtime in a process of its own, which is there to be killed. It
// prints a line once the deployment is Ready.
func host() int {
	var h hosted
	if err := json.Unmarshal([]byte(os.Getenv(hostedVariable)), &h); err != nil {
		fmt.Println(err)
		return 1
	}
	changed := make(chan struct{}, 100)
	s, err := New(context.Background(), Config{
		Dir: h.Dir, Domain: "apps.platform.localhost", Routes: &routing{routes: map[string]bound{}},
		Times: quick, Log: slog.New(slog.DiscardHandler), Changed: func(string) { changed <- struct{}{} },
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for {
		status, err := s.Apply(context.Background(), h.Deployment)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		if status.Ready {
			fmt.Println("ready")
		}
		<-changed
	}
}

// crash starts a host, and kills it once d is Ready.
func (w *workshop) crash(d Deployment) {
	w.t.Helper()
	binary, err := os.Executable()
	require.NoError(w.t, err)
	text, err := json.Marshal(hosted{w.cfg.Dir, d})
	require.NoError(w.t, err)
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), programVariable+"=host", hostedVariable+"="+string(text))
	out, err := cmd.StdoutPipe()
	require.NoError(w.t, err)
	require.NoError(w.t, cmd.Start())
	line := make([]byte, 1000)
	n, err := out.Read(line)
	require.NoError(w.t, err)
	require.Equal(w.t, "ready\n", string(line[:n]))
	require.NoError(w.t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
}

func TestWhatAKilledRuntimeLeavesRunningIsClearedAtTheNextStart(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		leaderDies   bool
	}{
		{"a server", `exec "$TEST_BINARY"`, false},
		{"a server with a child", `tail -f /dev/null & exec "$TEST_BINARY"`, false},
		{"a child that left the group", `setsid tail -f /dev/null & exec "$TEST_BINARY"`, false},
		{"a child of the group without the environment", `env -i tail -f /dev/null & exec "$TEST_BINARY"`, false},
		{"children whose server has died since", `tail -f /dev/null & env -i tail -f /dev/null & setsid tail -f /dev/null & exec "$TEST_BINARY"`, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorkshop(t)
			require.NoError(t, w.Close())
			d := w.script(tc.script)
			w.crash(d)
			records, err := filepath.Glob(filepath.Join(w.processesDir(), "*.json"))
			require.NoError(t, err)
			require.Len(t, records, 1)
			var r processRecord
			text, err := os.ReadFile(records[0])
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &r))
			before := w.group(r)
			require.Len(t, before, 1+strings.Count(tc.script, "tail"), "they outlive the runtime")
			if tc.leaderDies {
				require.NoError(t, syscall.Kill(r.PID, syscall.SIGKILL))
				require.Eventually(t, func() bool { return len(w.group(r)) == len(before)-1 }, waitLong, waitShort)
			}
			require.NoError(t, os.WriteFile(filepath.Join(w.processesDir(), "torn.json.new"), []byte(`{"na`), 0o600), "a write cut short")

			w.restart()
			assert.Empty(t, w.group(r))
			for _, dir := range []string{w.processesDir(), w.workDir()} {
				entries, err := os.ReadDir(dir)
				require.NoError(t, err)
				assert.Empty(t, entries, dir)
			}
			w.down(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }))
			w.runs(d) // from what is unpacked, without the registry
		})
	}
}

// group is what lives of a process: its group, and what works in its files.
func (w *workshop) group(r processRecord) []int {
	all, err := processes()
	require.NoError(w.t, err)
	var found []int
	for _, st := range all {
		if st.group == r.Group || worksIn(st.pid, r.Dir) {
			found = append(found, st.pid)
		}
	}
	return found
}

func TestAProcessThatOnlyHasTheRecordedNumberIsLeftAlone(t *testing.T) {
	cmd := exec.Command("tail", "-f", "/dev/null")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid := cmd.Process.Pid
	st, ok := readStat(pid)
	require.True(t, ok)
	right := processRecord{PID: pid, Group: pid, Started: st.started, Boot: bootID(), Mark: "none", Dir: t.TempDir()}
	for name, change := range map[string]func(*processRecord){
		"another start time":             func(r *processRecord) { r.Started += "0" },
		"no start time":                  func(r *processRecord) { r.Started = "" },
		"another start of the machine":   func(r *processRecord) { r.Boot = "another" },
		"a group whose leader is gone":   func(r *processRecord) { r.PID = 1 << 30 },
		"a group of which it is no part": func(r *processRecord) { r.Group = 1 << 30 },
	} {
		t.Run(name, func(t *testing.T) {
			r := right
			change(&r)
			killed, err := r.clear(t.Context())
			require.NoError(t, err)
			assert.Zero(t, killed)
			_, alive := readStat(pid)
			assert.True(t, alive)
		})
	}
	killed, err := right.clear(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, killed)
}

func TestAProgramDoesNotRunBeforeItIsRecorded(t *testing.T) {
	for _, tc := range []struct {
		name string
		line string
		runs bool
	}{
		{"the runtime was killed before it had recorded it", "", false},
		{"it is recorded", "\n", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ran := filepath.Join(t.TempDir(), "ran")
			r, w, err := os.Pipe()
			require.NoError(t, err)
			cmd := exec.Command("/bin/sh", "-c", gate, "sh", "/bin/sh", "-c", "echo >"+ran+"; [ ! -e /proc/$$/fd/3 ]")
			cmd.ExtraFiles = []*os.File{r}
			require.NoError(t, cmd.Start())
			_, err = w.WriteString(tc.line)
			require.NoError(t, err)
			require.NoError(t, w.Close())
			require.NoError(t, r.Close())
			assert.Equal(t, tc.runs, cmd.Wait() == nil)
			_, err = os.Stat(ran)
			assert.Equal(t, tc.runs, err == nil)
		})
	}
}

func TestADamagedRecordIsNamed(t *testing.T) {
	w := newWorkshop(t)
	file := filepath.Join(w.processesDir(), "shop.json")
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	_, err := New(t.Context(), w.cfg)
	require.ErrorContains(t, err, "shop.json")
	require.NoError(t, os.Remove(file))
}
