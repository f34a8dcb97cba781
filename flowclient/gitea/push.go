package gitea

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/gitea/gitcmd"
)

const (
	originTrailer = "Platform-Origin" // of a commit: the key that its push was asked with
	originDepth   = 200               // newest commits of a branch that are searched for a key
	pushAttempts  = 8
	pushTimeout   = 5 * time.Minute
)

// errMoved is a push that another one was faster than: it starts over.
var errMoved = errors.New("the branch has moved")

// Push commits p's files on top of its branch (main when empty; made on the
// default branch where there is none, or as the first commit of an empty
// repository) and pushes it. A key that one of the branch's last 200 commits
// carries is answered with that commit. Errors: *Invalid for a bad path and
// for a push that would change nothing, *NotFound, *Upstream.
func (c *Client) Push(ctx context.Context, p flowclient.Push) (flowclient.Commit, error) {
	if p.Branch == "" {
		p.Branch = "main"
	}
	if err := checkPush(p); err != nil {
		return flowclient.Commit{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		made, err := c.pushOnce(ctx, p)
		if !errors.Is(err, errMoved) {
			return made, err
		}
		if attempt == pushAttempts {
			return flowclient.Commit{}, &flowclient.Upstream{Part: part, Err: fmt.Errorf("push to %s %s: %d attempts: %w", p.Repo, p.Branch, attempt, err)}
		}
		c.cfg.Log.InfoContext(ctx, "push starts over", "repository", p.Repo, "branch", p.Branch, "attempt", attempt)
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(50*time.Millisecond) << attempt))) //nolint:gosec // spreads attempts
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return flowclient.Commit{}, &flowclient.Upstream{Part: part, Err: ctx.Err()}
		}
	}
}

// scratch is the bare repository in which one attempt makes its commit.
type scratch struct {
	client *Client
	dir    string
	remote string
	push   flowclient.Push
}

// pushOnce fetches the branch, makes the commit and pushes it.
func (c *Client) pushOnce(ctx context.Context, p flowclient.Push) (flowclient.Commit, error) {
	dir, err := os.MkdirTemp(c.cfg.Dir, "push-")
	if err != nil {
		return flowclient.Commit{}, fmt.Errorf("push to %s: %w", p.Repo, err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			c.cfg.Log.WarnContext(ctx, "scratch directory is left", "dir", dir, "error", err)
		}
	}()
	s := &scratch{client: c, dir: dir, remote: c.cfg.BaseURL + "/" + p.Repo + ".git", push: p}
	if _, err := s.git(ctx, "init", "--quiet", "--bare", "--template=", dir); err != nil {
		return flowclient.Commit{}, fmt.Errorf("push to %s: %w", p.Repo, err)
	}
	if err := s.fetch(ctx); err != nil {
		return flowclient.Commit{}, err
	}
	parent, known, err := s.history(ctx)
	if err != nil {
		return flowclient.Commit{}, err
	}
	if known != "" {
		found, err := s.read(ctx, known)
		if err != nil {
			return flowclient.Commit{}, err
		}
		return found[0].Commit, nil
	}
	made, err := s.commit(ctx, parent)
	if err != nil {
		return flowclient.Commit{}, err
	}
	return made, s.send(ctx, made.SHA)
}

// git runs git on the scratch repository. The credential is a setting for the
// server's address alone, and settings travel in the environment.
func (s *scratch) git(ctx context.Context, args ...string) ([]byte, error) {
	return s.run(ctx, gitcmd.Call{Args: args})
}

func (s *scratch) run(ctx context.Context, call gitcmd.Call) ([]byte, error) {
	call.GitDir, call.Timeout = s.dir, pushTimeout
	call.Settings = []gitcmd.Setting{
		{Key: "http." + s.client.cfg.BaseURL + "/.extraHeader", Value: s.client.basic()},
		{Key: "http.followRedirects", Value: "false"},
		{Key: "gc.auto", Value: "0"},
		{Key: "core.hooksPath", Value: os.DevNull},
	}
	return s.client.git.Run(ctx, call)
}

// The refs of a scratch repository.
const (
	refBase = "refs/platform/base" // what was fetched; absent when there was nothing
	refMade = "refs/platform/made"
)

// fetch gets the branch. One that does not exist begins at the push's base, or
// at the default branch; an empty repository gives nothing.
func (s *scratch) fetch(ctx context.Context) error {
	begin := "HEAD"
	if s.push.Base != "" {
		begin = "refs/heads/" + s.push.Base
	}
	for _, ref := range []string{"refs/heads/" + s.push.Branch, begin} {
		_, err := s.git(ctx, "fetch", "--quiet", "--no-tags", "--depth="+strconv.Itoa(originDepth), s.remote, "+"+ref+":"+refBase)
		if err == nil || !gitcmd.Says(err, "couldn't find remote ref") {
			return s.failed(err)
		}
	}
	if s.push.Base != "" {
		return &flowclient.NotFound{Kind: "branch", Name: s.push.Repo + " " + s.push.Base}
	}
	return nil
}

// history gives the head of what was fetched ("" for nothing) and the commit
// that carries the push's key ("" for none).
func (s *scratch) history(ctx context.Context) (head, known string, err error) {
	out, err := s.git(ctx, "log", "--max-count="+strconv.Itoa(originDepth), "--ignore-missing",
		"--format=%H %(trailers:key="+originTrailer+",valueonly,separator=%x00)", "--glob=refs/platform/*")
	if err != nil {
		return "", "", s.failed(err)
	}
	for line := range strings.Lines(string(out)) {
		sha, keys, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if head == "" {
			head = sha
		}
		if slices.Contains(strings.Split(keys, "\x00"), s.push.Key) {
			return head, sha, nil
		}
	}
	return head, "", nil
}

// object is a commit of the scratch repository with its tree.
type object struct {
	flowclient.Commit
	tree string
}

// read reads commits in the order given.
func (s *scratch) read(ctx context.Context, revisions ...string) ([]object, error) {
	out, err := s.git(ctx, append([]string{"log", "-z", "--no-walk=unsorted", "--format=tformat:%H%x00%T%x00%an%x00%cI%x00%B"}, revisions...)...)
	if err != nil {
		return nil, s.failed(err)
	}
	fields := strings.Split(string(out), "\x00")
	if len(fields) != 5*len(revisions)+1 {
		return nil, fmt.Errorf("commits of %s cannot be read", s.push.Repo)
	}
	var found []object
	for ; len(fields) > 1; fields = fields[5:] {
		at, err := time.Parse(time.RFC3339, fields[3])
		if err != nil {
			return nil, fmt.Errorf("commit %s of %s: %w", fields[0], s.push.Repo, err)
		}
		subject, _, _ := strings.Cut(fields[4], "\n")
		found = append(found, object{tree: fields[1], Commit: flowclient.Commit{
			SHA: fields[0], Subject: subject, Author: fields[2], At: at,
			WebURL: s.client.cfg.BaseURL + "/" + s.push.Repo + "/commit/" + fields[0],
		}})
	}
	return found, nil
}

// commit makes the commit from the parent's tree and the push's files.
func (s *scratch) commit(ctx context.Context, parent string) (flowclient.Commit, error) {
	there, err := s.tree(ctx, parent)
	if err != nil {
		return flowclient.Commit{}, err
	}
	if err := checkAgainst(s.push, there); err != nil {
		return flowclient.Commit{}, err
	}
	who := s.push.Author
	if who == "" {
		who = s.client.cfg.User
	}
	made := gitcmd.NewImport(gitcmd.ImportHead{
		Ref: refMade, From: parent, Name: who, Email: address(who), At: s.client.cfg.Now(),
		Message: strings.TrimSpace(s.push.Message) + "\n\n" + originTrailer + ": " + s.push.Key + "\n",
	})
	for _, name := range s.push.Delete {
		made.Delete(name)
	}
	for name, content := range s.push.Files {
		mode := gitcmd.ModeFile
		if there[name] == gitcmd.ModeExecutable {
			mode = gitcmd.ModeExecutable
		}
		made.Write(name, mode, []byte(content))
	}
	if _, err := s.run(ctx, gitcmd.Call{Args: []string{"fast-import", "--quiet", "--done"}, Stdin: made.Reader()}); err != nil {
		return flowclient.Commit{}, fmt.Errorf("commit to %s: %w", s.push.Repo, err)
	}
	revisions := []string{refMade}
	if parent != "" {
		revisions = append(revisions, parent)
	}
	found, err := s.read(ctx, revisions...)
	if err != nil {
		return flowclient.Commit{}, err
	}
	if parent != "" && found[0].tree == found[1].tree {
		return flowclient.Commit{}, &flowclient.Invalid{Field: "files", Value: strings.Join(paths(s.push), ", "), Why: "no change: the branch holds them so already"}
	}
	return found[0].Commit, nil
}

// tree maps each path of a commit to its mode; directories are left out.
func (s *scratch) tree(ctx context.Context, sha string) (map[string]string, error) {
	modes := map[string]string{}
	if sha == "" {
		return modes, nil
	}
	out, err := s.git(ctx, "ls-tree", "-r", "-z", "--full-tree", sha)
	if err != nil {
		return nil, s.failed(err)
	}
	for line := range strings.SplitSeq(string(out), "\x00") {
		if meta, name, ok := strings.Cut(line, "\t"); ok {
			modes[name], _, _ = strings.Cut(meta, " ")
		}
	}
	return modes, nil
}

// send pushes the commit. Another push in between is errMoved.
func (s *scratch) send(ctx context.Context, sha string) error {
	_, err := s.git(ctx, "push", "--quiet", s.remote, sha+":refs/heads/"+s.push.Branch)
	if gitcmd.Says(err, "[rejected]", "fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref", "incorrect old value provided", "reference already exists") {
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	return s.failed(err)
}

// failed maps what git said. The credential is in none of it: git prints no header.
func (s *scratch) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case gitcmd.Says(err, "not found", "error: 404"):
		return &flowclient.NotFound{Kind: "repository", Name: s.push.Repo}
	}
	return &flowclient.Upstream{Part: part, Err: err}
}
