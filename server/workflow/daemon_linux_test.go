package workflow

import (
	"path/filepath"
	"testing"
)

// A process that has left its group is found by way of /proc, hence on Linux alone.
func TestADaemonThatAStageHasStartedEndsWithTheRun(t *testing.T) {
	for _, c := range []struct{ name, flee string }{
		{"in the build directory", ""},
		{"elsewhere, with the run's home", "cd /;"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, oneStage("1m")).start()
			dir := t.TempDir()
			repo, sha := newRepository(t, files{"run.sh": `setsid sh -c '` + c.flee + ` echo $$ >` + dir + `/daemon; exec sleep 600' >/dev/null 2>&1 &
while [ ! -s ` + dir + `/daemon ]; do :; done
mkdir out; echo hello >out/index.html
`})
			r.build("run", repo, sha)
			r.succeeded("run")
			gone(t, filepath.Join(dir, "daemon"))
		})
	}
}
