package workflow

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

const password = "correct-horse-battery"

// privateGit serves a repository by git's own http-backend to whoever knows the password.
func privateGit(t *testing.T, repo string) (url string, asked func() []string) {
	t.Helper()
	core, err := exec.Command("git", "--exec-path").Output()
	require.NoError(t, err)
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(core)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Dir(repo), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"},
	}
	var seen []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, pass, ok := r.BasicAuth()
		seen = append(seen, user+":"+pass)
		if !ok || user != "builder" || pass != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		r.Header.Del("Authorization")
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/" + filepath.Base(repo), func() []string { srv.Close(); return seen }
}

func TestCredentialsGoWhereTheyMayAndNowhereElse(t *testing.T) {
	type params = flowclient.WorkflowParameters
	for _, c := range []struct {
		name   string
		change func(*params)
		fails  string // the reason; empty: the build succeeds
		sent   bool
	}{
		{"plain HTTP without allowInsecureAuth", func(p *params) { p.Repository.SecretRef = "git" },
			"could not read Username for 'http://127.0.0.1:[0-9]+': terminal prompts disabled", false},
		{"plain HTTP with allowInsecureAuth", func(p *params) { p.Repository.SecretRef, p.Repository.AllowInsecureAuth = "git", true }, "", true},
		{"no secret named", func(p *params) { p.Repository.AllowInsecureAuth = true }, "could not read Username", false},
		{"a secret that is not there", func(p *params) { p.Repository.SecretRef, p.Repository.AllowInsecureAuth = "other", true }, "could not read Username", false},
		{"a password that is wrong", func(p *params) { p.Repository.SecretRef, p.Repository.AllowInsecureAuth = "stale", true }, "Authentication failed for", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo, sha := newRepository(t, files{"run.sh": "mkdir out; echo hello >out/index.html; env\n"})
			url, asked := privateGit(t, repo)
			r := newRig(t, oneStage("1m"))
			r.cfg.Credentials = func(ref string) (string, string, bool) {
				switch ref {
				case "git":
					return "builder", password, true
				case "stale":
					return "builder", "stale-password", true
				}
				return "", "", false
			}
			r.start()
			r.build("run", repo, sha, c.change, func(p *params) { p.Repository.URL = url })
			rec := r.ended("run")
			log := r.log("run", "")
			if c.fails == "" {
				require.Equal(t, flowclient.BuildSucceeded, rec.Phase, log)
			} else {
				assert.Regexp(t, "^stage checkout failed: "+c.fails, rec.Message)
				assert.Regexp(t, c.fails, r.log("run", "checkout"), "the log shows git's own words")
			}
			r.stop()
			assert.Equal(t, c.sent, strings.Contains(strings.Join(asked(), " "), password))
			nowhereOnDisk(t, r.cfg.Dir, password, "stale-password")
			nowhereOnDisk(t, filepath.Dir(r.cfg.Path), password, "stale-password")
			assert.NotContains(t, log, password)
		})
	}
}

// nowhereOnDisk asserts that no file below dir holds a secret.
func nowhereOnDisk(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, s := range secrets {
			assert.NotContains(t, string(b), s, path)
		}
		return err
	}))
}
