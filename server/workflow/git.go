package workflow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"time"
)

// fetchLimit is how long git may take to fetch or to check out.
const fetchLimit = 5 * time.Minute

// fetching is a commit to fetch into a new repository.
type fetching struct {
	dir    string // becomes the repository
	url    string
	commit string // SHA, abbreviated or whole; when empty, ref counts
	ref    string // branch, tag or HEAD
	env    []string
	line   func(string) // is told what git says
}

// fetch fetches what is wanted, as little of the history as the server allows, and gives its SHA.
func (l *life) fetch(ctx context.Context, f fetching) (string, error) {
	if _, err := l.gitOutput(ctx, f.dir, maxPipelineBytes, "init", "-q", "--template=", "."); err != nil {
		return "", err
	}
	switch {
	case f.commit == "":
		if err := l.fetchRefs(ctx, f, f.line, "--depth=1", "--", f.url, f.ref); err != nil {
			return "", err
		}
		return l.resolve(ctx, f, "FETCH_HEAD")
	case len(f.commit) == 40:
		var said []string
		err := l.fetchRefs(ctx, f, func(s string) { said = append(said, s) }, "--depth=1", "--", f.url, f.commit)
		if err == nil {
			return l.resolve(ctx, f, f.commit)
		}
		if !notAdvertised(said) {
			for _, s := range said {
				f.line(s)
			}
			return "", err
		}
	}
	if err := l.fetchRefs(ctx, f, f.line, "--", f.url, "+refs/heads/*:refs/remotes/origin/*"); err != nil {
		return "", err
	}
	return l.resolve(ctx, f, f.commit)
}

// notAdvertised tells whether a server refused to give a commit by its SHA; some do, and some do not have it.
func notAdvertised(said []string) bool {
	all := strings.Join(said, "\n")
	return strings.Contains(all, "not our ref") || strings.Contains(all, "unadvertised object") || strings.Contains(all, "not advertised")
}

// fetchRefs runs git fetch. Its error is what git gave as the reason.
func (l *life) fetchRefs(ctx context.Context, f fetching, line func(string), args ...string) error {
	reason := ""
	err := l.run(ctx, program{
		argv:  l.gitArgs(f.dir, append([]string{"fetch", "-q", "--no-tags"}, args...)...),
		dir:   f.dir,
		env:   append(l.gitEnv(), f.env...),
		limit: fetchLimit,
		output: func(s string) {
			if text, ok := strings.CutPrefix(s, "fatal: "); ok && reason == "" {
				reason = text // the first is the cause
			}
			line(s)
		},
	})
	var exit *exec.ExitError
	if errors.As(err, &exit) && reason != "" {
		return errors.New(printable(reason))
	}
	if err != nil {
		return fmt.Errorf("git fetch: %w", explain(err, fetchLimit))
	}
	return nil
}

// resolve gives the whole SHA of a commit that has been fetched.
func (l *life) resolve(ctx context.Context, f fetching, name string) (string, error) {
	out, err := l.gitOutput(ctx, f.dir, maxPipelineBytes, "rev-parse", "--verify", name+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%s has no commit %s on a branch: %w", f.url, name, err)
	}
	return strings.TrimSpace(out), nil
}

// gitArgs is git's argv for a repository.
func (l *life) gitArgs(dir string, args ...string) []string {
	return append([]string{l.s.git, "-C", dir}, args...)
}

// gitEnv is git's environment: no configuration but what stands here, no prompt, words that can be recognised.
func (l *life) gitEnv() []string {
	return append(l.environment(),
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ALLOW_PROTOCOL=http:https:file",
		"LC_ALL=C")
}

// credentialEnv gives git a credential for one server, by its own credential
// protocol: it stands in the environment, never in an argument or a file, and
// git sends it to no other server that it may be redirected to.
func credentialEnv(u *url.URL, user, password string) []string {
	server := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	return []string{
		"GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=credential." + server + ".helper",
		`GIT_CONFIG_VALUE_0=!f() { test "$1" = get || exit 0; printf 'username=%s\npassword=%s\n' "$BUILD_GIT_USER" "$BUILD_GIT_PASSWORD"; }; f`,
		"BUILD_GIT_USER=" + user,
		"BUILD_GIT_PASSWORD=" + password,
	}
}

// errTooMuch is an output larger than was asked for.
var errTooMuch = errors.New("its output is too large")

// gitOutput runs a git command that only reads what is here and gives what it prints, at most limit bytes.
func (l *life) gitOutput(ctx context.Context, dir string, limit int, args ...string) (string, error) {
	argv := l.gitArgs(dir, args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = l.gitEnv()
	out, said := &bounded{limit: limit}, &bounded{limit: limit}
	cmd.Stdout, cmd.Stderr = out, said
	err := cmd.Run()
	switch {
	case out.over:
		return "", errTooMuch
	case err != nil && said.buf.Len() > 0:
		return "", errors.New(printable(strings.TrimPrefix(strings.TrimSpace(said.buf.String()), "fatal: ")))
	case err != nil:
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return out.buf.String(), nil
}

// bounded is a buffer that takes so much and no more.
type bounded struct {
	buf   bytes.Buffer
	limit int
	over  bool
}

// Write appends p or, when it does not fit, takes note of that.
func (b *bounded) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > b.limit {
		b.over = true
		return 0, errTooMuch
	}
	return b.buf.Write(p)
}
