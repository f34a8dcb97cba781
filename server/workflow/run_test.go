package workflow

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestTheStaticTemplateBecomesAnImageThatCarriesItsCommit(t *testing.T) {
	r := newRig(t, moduleFiles(t)).start()
	repo, sha := newRepository(t, staticFiles(t))
	r.build("shop-web-run-1", repo, sha, func(p *flowclient.WorkflowParameters) { p.WorkloadPath = "workload.yaml" })
	rec := r.succeeded("shop-web-run-1")

	assert.Equal(t, []string{"checkout=Succeeded", "test=Succeeded", "build=Succeeded", "publish=Succeeded"}, phases(rec))
	assert.Equal(t, sha, rec.Commit)
	assert.Empty(t, rec.Message)
	assert.Regexp(t, `^`+r.registry+`/shop/web@sha256:[0-9a-f]{64}$`, rec.Image)
	require.NotNil(t, rec.Workload)
	assert.Equal(t, flowclient.WorkloadSpec{
		Owner:     &flowclient.Owner{ProjectName: "shop", ComponentName: "shop-web"},
		Container: flowclient.Container{Image: rec.Image},
		Endpoints: map[string]flowclient.Endpoint{"http": {Type: "HTTP", Port: 8080}},
	}, *rec.Workload)

	img := r.pull(rec.Image)
	require.NoError(t, validate.Image(img))
	config, err := img.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, "/site", config.Config.WorkingDir)
	assert.Equal(t, sha, config.Config.Labels["org.opencontainers.image.revision"])
	assert.Equal(t, "2026-03-01T11:00:00Z", config.Created.UTC().Format("2006-01-02T15:04:05Z"))

	site := map[string]string{}
	tr := tar.NewReader(mutate.Extract(img))
	for {
		hdr, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		body, err := io.ReadAll(tr)
		require.NoError(t, err)
		site[hdr.Name] = string(body)
	}
	assert.Contains(t, site["site/index.html"], `<meta name="commit" content="`+sha+`">`)
	assert.Contains(t, site["site/index.html"], `<code id="commit">`+sha[:7]+`</code>`)
	assert.Contains(t, site["site/index.html"], `2026-03-01T11:00:00Z`)
	assert.Contains(t, site, "site/style.css")
	assert.NotContains(t, site, "site/workload.yaml")

	assert.Regexp(t, `^pipeline module file://\S+ at #main resolved to [0-9a-f]{40}\n`, r.log("shop-web-run-1", "checkout"))
	assert.Contains(t, r.log("shop-web-run-1", "test"), `link "style.css" leads to ./style.css`)
	assert.Contains(t, r.log("shop-web-run-1", ""), "pushed "+rec.Image)
	left, err := os.ReadDir(filepath.Join(r.cfg.Dir, "builds"))
	require.NoError(t, err)
	assert.Empty(t, left, "build directories are removed")
}

func TestTheSameCommitGivesTheSameDigestWhateverTheDirectoryTimeOrUmask(t *testing.T) {
	fs := staticFiles(t)
	repo, sha := newRepository(t, fs)
	var digests []string
	for _, mask := range []int{0o022, 0o077} {
		old := syscall.Umask(mask)
		r := newRig(t, moduleFiles(t)).start()
		r.build("run", repo, sha)
		rec := r.succeeded("run")
		_, digest, _ := strings.Cut(rec.Image, "@")
		digests = append(digests, digest)
		r.stop()
		syscall.Umask(old)
	}
	assert.Equal(t, digests[0], digests[1])

	fs["index.html"] = strings.Replace(fs["index.html"], "<h1>", "<h1>New ", 1)
	r := newRig(t, moduleFiles(t)).start()
	r.build("run", repo, commit(t, repo, fs))
	_, digest, _ := strings.Cut(r.succeeded("run").Image, "@")
	assert.NotEqual(t, digests[0], digest, "another commit is another image")
}

func TestABrokenLinkFailsTheTestStageAndSaysWhere(t *testing.T) {
	r := newRig(t, moduleFiles(t)).start()
	fs := staticFiles(t)
	fs["index.html"] = strings.Replace(fs["index.html"], "<dl>", `<a href="prices.html">Prices</a><dl>`, 1)
	repo, sha := newRepository(t, fs)
	r.build("run", repo, sha)
	rec := r.ended("run")

	assert.Equal(t, flowclient.BuildFailed, rec.Phase)
	assert.Equal(t, "stage test failed: exit status 1", rec.Message)
	assert.Equal(t, []string{"checkout=Succeeded", "test=Failed", "build=Skipped", "publish=Skipped"}, phases(rec))
	assert.Equal(t, "exit status 1", rec.Stages[1].Message)
	assert.Empty(t, rec.Image)
	out := r.log("run", "test")
	assert.Contains(t, out, `link "prices.html" leads nowhere: there is no file ./prices.html`)
	assert.Contains(t, out, "1 pages, 7 checks, 1 faults")
	assert.NotContains(t, out, "pipeline module", "a stage's log is its own")
}

func TestAStageThatTakesTooLongIsKilledWithAllThatItStarted(t *testing.T) {
	r := newRig(t, oneStage("1s")).start()
	pidFile := filepath.Join(t.TempDir(), "pid")
	repo, sha := newRepository(t, files{"run.sh": "sleep 600 & echo $! >" + pidFile + "\necho waiting\nwait\n"})
	r.build("run", repo, sha)
	rec := r.ended("run")
	assert.Equal(t, "stage work failed: it was killed because its time limit of 1s was over", rec.Message)
	assert.Equal(t, []string{"checkout=Succeeded", "work=Failed", "publish=Skipped"}, phases(rec))
	assert.Equal(t, "waiting\n", r.log("run", "work"))
	gone(t, pidFile)
}

func TestAChildThatOutlivesItsStageIsKilled(t *testing.T) {
	r := newRig(t, oneStage("1m")).start()
	pidFile := filepath.Join(t.TempDir(), "pid")
	repo, sha := newRepository(t, files{"run.sh": "sleep 600 & echo $! >" + pidFile + "\nmkdir out; echo hello >out/index.html\n"})
	r.build("run", repo, sha)
	r.succeeded("run")
	gone(t, pidFile)
}

// gone asserts that the process whose id a file holds has ended.
func gone(t *testing.T, pidFile string) {
	t.Helper()
	b, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return processStart(t.Context(), pid) == "" }, secondsToDie, pollEvery, "process %d lives", pid)
}

func TestAStageSeesNothingOfThePlatformsEnvironment(t *testing.T) {
	t.Setenv("PLATFORM_SECRET", "do-not-tell")
	r := newRig(t, oneStage("1m")).start()
	repo, sha := newRepository(t, files{"run.sh": "env; pwd; mkdir out; echo hello >out/index.html; ls -A $HOME\n"})
	r.build("run", repo, sha)
	r.succeeded("run")
	seen := map[string]string{}
	for line := range strings.Lines(r.log("run", "work")) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			seen[k] = v
		}
	}
	delete(seen, "PWD") // of the shell's own
	delete(seen, "OLDPWD")
	delete(seen, "_")
	assert.Regexp(t, `/builds/run-1/home$`, seen["HOME"])
	delete(seen, "HOME")
	assert.Equal(t, map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "CI": "true", "COMMIT": sha,
		"COMMIT_TIME": "2026-03-01T11:00:00Z", "PROJECT": "shop", "COMPONENT": "shop-web",
	}, seen)
}

func TestARunIsAskedForOnceHoweverOften(t *testing.T) {
	r := newRig(t, oneStage("1m")).start()
	count := filepath.Join(t.TempDir(), "count")
	repo, sha := newRepository(t, files{"run.sh": "echo x >>" + count + "; mkdir out; echo hello >out/index.html\n"})
	for range 3 {
		r.build("run", repo, sha)
	}
	r.succeeded("run")
	r.build("run", repo, "0000000000000000000000000000000000000000")
	assert.Equal(t, sha, r.succeeded("run").Commit, "what was asked first counts")
	b, err := os.ReadFile(count)
	require.NoError(t, err)
	assert.Equal(t, "x\n", string(b))
}

func TestNoMoreRunsAreUnderWayThanConfigured(t *testing.T) {
	r := newRig(t, oneStage("1m"))
	r.cfg.MaxConcurrent = 1
	r.start()
	flag := filepath.Join(t.TempDir(), "go")
	repo, sha := newRepository(t, files{"run.sh": "until [ -e " + flag + " ]; do sleep 0.05; done; mkdir out; echo hello >out/index.html\n"})
	r.build("first", repo, sha)
	r.build("second", repo, sha)
	r.await("first", "at work", func(rec record) bool { return len(rec.Stages) == 3 && rec.Stages[1].Phase == taskRunning })
	second, err := r.s.book.load(context.Background(), "second")
	require.NoError(t, err)
	assert.Equal(t, flowclient.BuildPending, second.Phase)
	require.NoError(t, os.WriteFile(flag, nil, 0o600))
	first := r.succeeded("first")
	second = r.succeeded("second")
	assert.False(t, second.StartedAt.Before(*first.CompletedAt))
}

func TestWhatARunAsksForIsResolved(t *testing.T) {
	module, _ := newRepository(t, oneStage("1m"))
	git(t, module, "tag", "v1.2.0")
	first := git(t, module, "rev-parse", "HEAD")
	commit(t, module, files{"pipeline.yaml": strings.Replace(oneStage("1m")["pipeline.yaml"], "name: work", "name: labour", 1)})
	second := git(t, module, "rev-parse", "HEAD")

	repo, old := newRepository(t, files{"run.sh": "mkdir out; echo old >out/index.html\n"})
	head := commit(t, repo, files{"run.sh": "mkdir out; echo new >out/index.html\n"})

	type params = flowclient.WorkflowParameters
	for i, c := range []struct {
		name         string
		change       func(*params)
		commit       string
		module, line string
	}{
		{"a whole SHA that is no branch's head", func(p *params) { p.Repository.Revision.Commit = old }, old, second, "#main"},
		{"an abbreviated SHA", func(p *params) { p.Repository.Revision.Commit = old[:7] }, old, second, "#main"},
		{"no commit: the branch's head", func(p *params) { p.Repository.Revision.Branch = "main" }, head, second, "#main"},
		{"neither commit nor branch: the default branch's head", func(*params) {}, head, second, "#main"},
		{"a module pinned to a tag", func(p *params) { p.ModuleRef = "#v1.2.0" }, head, first, "#v1.2.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, oneStage("1m"))
			r.cfg.Module = "file://" + module
			r.start()
			run := fmt.Sprintf("run-%d", i)
			r.build(run, repo, "", c.change)
			rec := r.succeeded(run)
			assert.Equal(t, c.commit, rec.Commit)
			assert.Equal(t, c.module, rec.ModuleCommit)
			assert.Contains(t, r.log(run, "checkout"), "pipeline module file://"+module+" at "+c.line+" resolved to "+c.module)
		})
	}
}

func TestWhatCannotBeBuiltFailsWithAReason(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("endpoints: {}"), 0o600))
	good := files{
		"run.sh": "mkdir -p out; echo hello >out/index.html\n", "svc/run.sh": "mkdir -p out; echo hello >out/index.html\n",
		"away": "-> " + outside, "descriptor.yaml": "-> " + outside + "/secret", "bad.yaml": "endpoints: {http: {type: HTTP, port: 8080, colour: red}}\n",
	}
	linked := files{"run.sh": "ln -s " + outside + " out\n"}
	inside := files{"run.sh": "mkdir out; ln -s " + outside + "/secret out/index.html\n"}
	empty := files{"run.sh": "mkdir out\n"}
	absent := files{"run.sh": "exec nothing-of-this-name\n"}
	type params = flowclient.WorkflowParameters
	for _, c := range []struct {
		name   string
		files  files
		change func(*params)
		reason string // of the run
	}{
		{"a commit that is nowhere", good, func(p *params) { p.Repository.Revision.Commit = strings.Repeat("0", 40) }, "stage checkout failed: .* has no commit 0{40} on a branch"},
		{"a commit that is none", good, func(p *params) { p.Repository.Revision.Commit = "--upload-pack=x" }, `repository.revision.commit "--upload-pack=x": must be`},
		{"a branch that is none", good, func(p *params) { p.Repository.Revision.Commit, p.Repository.Revision.Branch = "", "-x" }, `repository.revision.branch "-x": must be`},
		{"a repository that is not there", good, func(p *params) { p.Repository.URL = "file:///nowhere/at/all" }, "stage checkout failed: .*/nowhere/at/all.*does not"},
		{"another protocol", good, func(p *params) { p.Repository.URL = "ext::sh -c id" }, `repository.url "ext::sh -c id": must be an http or https address`},
		{"credentials in the address", good, func(p *params) { p.Repository.URL = "http://u:hunter2@host/x" }, `repository.url "http://u:xxxxx@host/x": must not carry credentials`},
		{"a module ref without #", good, func(p *params) { p.ModuleRef = "main" }, `^module-ref "main": must be # and a branch`},
		{"a module ref that is not there", good, func(p *params) { p.ModuleRef = "#v9" }, `^pipeline module \S+ at #v9: couldn't find remote ref v9`},
		{"an appPath that is not there", good, func(p *params) { p.Repository.AppPath = "other" }, `stage work failed: repository.appPath "other": does not exist at commit`},
		{"an appPath that climbs", good, func(p *params) { p.Repository.AppPath = "../.." }, `repository.appPath "../..": must be a path within the repository`},
		{"an appPath that leads out by a link", good, func(p *params) { p.Repository.AppPath = "away" }, `repository.appPath "away": leads out of the repository by a link`},
		{"a buildPath that is a file", good, func(p *params) { p.BuildPath = "run.sh" }, `buildPath "run.sh": is not a directory`},
		{"a workloadPath that is not there", good, func(p *params) { p.WorkloadPath = "svc/workload.yaml" }, `stage publish failed: workloadPath "svc/workload.yaml": does not exist at commit`},
		{"a workloadPath that leads out by a link", good, func(p *params) { p.WorkloadPath = "descriptor.yaml" }, `workloadPath "descriptor.yaml": must be a file within the repository`},
		{"a descriptor with an unknown field", good, func(p *params) { p.WorkloadPath = "bad.yaml" }, `stage publish failed: bad.yaml: .*field "colour" is unknown`},
		{"an image root that leads out by a link", linked, nil, `image.root "out": leads out of the repository by a link`},
		{"a file of the image that leads out by a link", inside, nil, `image of out: .*index.html.*escapes`},
		{"an image of nothing", empty, nil, `image of out: there is no file in it`},
		{"an image name that is none", good, func(p *params) { p.ImageName = "Web/../x" }, `imageName "Web/../x": must be`},
		{"a program that is not there", absent, nil, `stage work failed: exit status 127`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, oneStage("1m")).start()
			repo, sha := newRepository(t, c.files)
			if c.change == nil {
				c.change = func(*params) {}
			}
			r.build("run", repo, sha, c.change)
			rec := r.ended("run")
			assert.Equal(t, flowclient.BuildFailed, rec.Phase)
			assert.Regexp(t, c.reason, rec.Message)
			assert.Empty(t, rec.Image)
			assert.Nil(t, rec.Workload)
			for _, task := range rec.Stages {
				assert.NotContains(t, []string{taskPending, taskRunning}, task.Phase)
			}
			assert.NotEmpty(t, r.log("run", ""), "the log tells too")
			assert.NotContains(t, r.log("run", "")+rec.Message, "hunter2")
		})
	}
}

func TestAComponentInADirectoryIsBuiltThere(t *testing.T) {
	r := newRig(t, oneStage("1m")).start()
	repo, sha := newRepository(t, files{"svc/web/run.sh": "pwd; mkdir out; echo hello >out/index.html\n"})
	r.build("run", repo, sha, func(p *flowclient.WorkflowParameters) { p.Repository.AppPath, p.BuildPath = "/svc/", "web" })
	r.succeeded("run")
	assert.Regexp(t, `/src/svc/web\n`, r.log("run", "work"))
}

func TestANameThatCannotBeOneIsRefused(t *testing.T) {
	s := newRig(t, oneStage("1m")).open()
	defer s.Close()
	for _, b := range []Build{
		{Run: "", Project: "p", Component: "c"}, {Run: "../x", Project: "p", Component: "c"},
		{Run: "r", Project: "P", Component: "c"}, {Run: "r", Project: "p", Component: strings.Repeat("c", 300)},
	} {
		_, err := s.Ensure(context.Background(), b)
		var invalid *flowclient.Invalid
		require.ErrorAs(t, err, &invalid)
	}
	recs, err := s.book.recent(context.Background(), 10)
	require.NoError(t, err)
	assert.Empty(t, recs, "and changes nothing")
}

func TestALongLogKeepsItsBeginningAndItsEnd(t *testing.T) {
	r := newRig(t, oneStage("1m")).start()
	repo, sha := newRepository(t, files{"run.sh": `awk 'BEGIN { for (i = 1; i <= 30000; i++) print "line " i; printf "\033[31mred\033[0m\n"; for (i = 0; i < 9000; i++) printf "y" }'; exit 3` + "\n"})
	r.build("run", repo, sha)
	assert.Equal(t, "stage work failed: exit status 3", r.ended("run").Message)
	lines, err := r.s.Log(context.Background(), "run", "work")
	require.NoError(t, err)
	require.Len(t, lines, keptLines+1+keptTail)
	assert.Equal(t, "line 1", lines[0].Text)
	assert.Equal(t, "line 10000", lines[keptLines-1].Text)
	assert.Equal(t, "[19802 lines are left out here: the log keeps 10000 lines or 4 MiB, and the last 200]", lines[keptLines].Text)
	assert.Equal(t, "line 30000", lines[len(lines)-3].Text)
	assert.Equal(t, "[31mred[0m", lines[len(lines)-2].Text, "nothing that moves a cursor")
	assert.Equal(t, strings.Repeat("y", lineBytes)+" [the rest of the line is left out]", lines[len(lines)-1].Text)
}
