package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"platform.dev/platform/flowclient"
)

// source is the checkout of the commit that a run builds.
type source struct {
	dir    string // whole and free of links
	commit string // SHA
	at     time.Time
}

// commitShape is a SHA, abbreviated or whole.
var commitShape = regexp.MustCompile(`^[0-9a-fA-F]{7,40}$`)

// schemes are the ways a repository may be read; deny by default.
var schemes = map[string]bool{"http": true, "https": true, "file": true}

// checkOut fetches the run's commit and puts its files into src.
func (l *life) checkOut(ctx context.Context, j *journal) error {
	j.printf("pipeline module %s at %s resolved to %s", l.s.cfg.Module, l.rec.moduleRef(), l.rec.ModuleCommit)
	err := l.fetchSource(ctx, j)
	if err != nil {
		j.printf("%v", err)
	}
	return err
}

// fetchSource is checkOut without its log's frame.
func (l *life) fetchSource(ctx context.Context, j *journal) error {
	f, err := l.wanted()
	if err != nil {
		return err
	}
	f.line = j.line
	j.printf("fetching %s at %s", f.url, cmp.Or(f.commit, f.ref))
	if ref := l.rec.Params.Repository.SecretRef; ref != "" && len(f.env) == 0 {
		j.printf("%s", l.withheld(ref))
	}
	sha, err := l.fetch(ctx, f)
	if err != nil {
		return err
	}
	if l.rec.Commit != sha {
		if err := l.s.book.resolved(ctx, l.rec.Run, sha); err != nil {
			return err
		}
		l.rec.Commit = sha
		l.s.changed(l.rec.Run)
	}
	err = l.run(ctx, program{argv: l.gitArgs(f.dir, "checkout", "-q", "--detach", sha), dir: f.dir, env: l.gitEnv(), limit: fetchLimit, output: j.line})
	if err != nil {
		return fmt.Errorf("check out %s: %w", sha, explain(err, fetchLimit))
	}
	l.source, err = l.describe(ctx, f.dir, sha, j)
	return err
}

// wanted is what the parameters ask for: where, which commit, with which credentials.
func (l *life) wanted() (fetching, error) {
	repo := l.rec.Params.Repository
	u, err := url.Parse(repo.URL)
	switch {
	case err != nil || !schemes[u.Scheme] || u.Host == "" && u.Scheme != "file":
		return fetching{}, &flowclient.Invalid{Field: "repository.url", Value: repo.URL, Why: "must be an http or https address"}
	case u.User != nil:
		return fetching{}, &flowclient.Invalid{Field: "repository.url", Value: u.Redacted(), Why: "must not carry credentials; name them by repository.secretRef"}
	}
	f := fetching{dir: filepath.Join(l.dir, "src"), url: repo.URL, commit: cmp.Or(l.rec.Commit, repo.Revision.Commit), ref: "HEAD"}
	if f.commit != "" && !commitShape.MatchString(f.commit) {
		return fetching{}, &flowclient.Invalid{Field: "repository.revision.commit", Value: f.commit, Why: "must be 7 to 40 hexadecimal digits"}
	}
	if branch := repo.Revision.Branch; branch != "" {
		if !validRef(branch) {
			return fetching{}, &flowclient.Invalid{Field: "repository.revision.branch", Value: branch, Why: "must be the name of a branch"}
		}
		f.ref = "refs/heads/" + branch
	}
	if user, password, ok := l.credentials(); ok {
		f.env = credentialEnv(u, user, password)
	}
	return f, nil
}

// credentials gives the user and password for the run's repository, where they may be sent:
// over https, and over plain http only when the run allows it.
func (l *life) credentials() (user, password string, ok bool) {
	repo := l.rec.Params.Repository
	u, err := url.Parse(repo.URL)
	if err != nil || repo.SecretRef == "" || l.s.cfg.Credentials == nil {
		return "", "", false
	}
	if allowed := u.Scheme == "https" || u.Scheme == "http" && repo.AllowInsecureAuth; !allowed {
		return "", "", false
	}
	user, password, ok = l.s.cfg.Credentials(repo.SecretRef)
	if !ok || strings.ContainsAny(user+password, "\n\x00") { // git's credential protocol is made of lines
		return "", "", false
	}
	return user, password, true
}

// withheld says why the credentials that a run names are not sent.
func (l *life) withheld(secretRef string) string {
	if strings.HasPrefix(l.rec.Params.Repository.URL, "http://") && !l.rec.Params.Repository.AllowInsecureAuth {
		return fmt.Sprintf("the credentials %q are not sent: the address is plain HTTP and repository.allowInsecureAuth is not true", secretRef)
	}
	return fmt.Sprintf("the credentials %q are not sent: there are none of that name for this address", secretRef)
}

// sourceSecrets are the words that the source's log must never hold.
func (l *life) sourceSecrets() []string {
	_, password, _ := l.credentials()
	return []string{password}
}

// describe reads the commit's time and tells of it.
func (l *life) describe(ctx context.Context, dir, sha string, j *journal) (source, error) {
	out, err := l.gitOutput(ctx, dir, maxPipelineBytes, "show", "-s", "--format=%ct%n%an%n%s", sha)
	if err != nil {
		return source{}, fmt.Errorf("read commit %s: %w", sha, err)
	}
	lines := strings.SplitN(out+"\n\n", "\n", 4)
	seconds, err := strconv.ParseInt(lines[0], 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("read commit %s: time: %w", sha, err)
	}
	at := time.Unix(seconds, 0).UTC()
	j.printf("checked out %s of %s: %q by %s", sha, at.Format(time.RFC3339), lines[2], lines[1])
	return source{dir: dir, commit: sha, at: at}, nil
}

// workdir is the component's directory: appPath and below it buildPath, both without the slash around them.
func (s source) workdir(p flowclient.WorkflowParameters) (string, error) {
	dir := s.dir
	for _, part := range []struct{ field, path string }{
		{"repository.appPath", p.Repository.AppPath}, {"buildPath", p.BuildPath},
	} {
		var err error
		if dir, err = s.below(dir, part.field, part.path); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// below is the directory at path in dir; neither dots nor links may lead out of the checkout.
func (s source) below(dir, field, path string) (string, error) {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/")
	if path == "" {
		return dir, nil
	}
	invalid := func(why string) error { return &flowclient.Invalid{Field: field, Value: path, Why: why} }
	if !filepath.IsLocal(path) {
		return "", invalid("must be a path within the repository")
	}
	whole, err := filepath.EvalSymlinks(filepath.Join(dir, path))
	if errors.Is(err, os.ErrNotExist) {
		return "", invalid("does not exist at commit " + s.commit)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", field, err)
	}
	if !within(s.dir, whole) {
		return "", invalid("leads out of the repository by a link")
	}
	if info, err := os.Stat(whole); err != nil || !info.IsDir() {
		return "", invalid("is not a directory")
	}
	return whole, nil
}
