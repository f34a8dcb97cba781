package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"platform.dev/platform/flowclient/gitea/gitcmd"
	"platform.dev/platform/server/web"
)

// settings are in force for every git process of the server, over what a
// repository's own configuration says.
var settings = []gitcmd.Setting{
	{Key: "core.hooksPath", Value: "/dev/null"}, // no program of a repository runs here
	{Key: "gc.auto", Value: "0"},                // nothing goes on after the process we wait for
	{Key: "receive.autogc", Value: "false"},
	{Key: "receive.hideRefs", Value: "refs/pull"}, // pull requests' refs are fetched, and never pushed
	{Key: "core.quotePath", Value: "false"},
	{Key: "log.showSignature", Value: "false"},
	{Key: "init.defaultBranch", Value: defaultBranch},
}

func initCall(dir, branch string) gitcmd.Call {
	return gitcmd.Call{
		Args:     []string{"init", "--quiet", "--bare", "--template=", "--initial-branch=" + branch, "--", dir},
		Settings: settings,
	}
}

// git runs a reading process on the repository.
func (s *Server) git(ctx context.Context, repo repository, args ...string) ([]byte, error) {
	return s.reads.Run(ctx, gitcmd.Call{
		Args: args, GitDir: s.dir(repo), Settings: settings,
		Env: []string{"GIT_LITERAL_PATHSPECS=1"}, // a path that begins with ':' is a path
	})
}

// person is an author or committer.
type person struct {
	Name, Email string
	When        time.Time
}

// commit is a commit object.
type commit struct {
	SHA, Tree         string
	Parents           []string
	Author, Committer person
	Message           string // with its final newline
}

// subject is the first line of the message.
func (c commit) subject() string {
	first, _, _ := strings.Cut(c.Message, "\n")
	return first
}

// commitFormat gives the fields of a commit, each ended by NUL, the message last (-z ends it).
const commitFormat = "--format=tformat:%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B"

const commitFields = 10

// log lists commits by revisions (whole SHAs, with ^ for those to leave out,
// and paths after "--"), newest first; skip leaves out the first ones.
func (s *Server) log(ctx context.Context, repo repository, limit, skip int, revisions ...string) ([]commit, error) {
	args := append([]string{"log", "-z", "--no-color", "--encoding=UTF-8", commitFormat,
		"--max-count=" + strconv.Itoa(limit), "--skip=" + strconv.Itoa(skip), "--end-of-options"}, revisions...)
	if !slices.Contains(revisions, "--") {
		args = append(args, "--") // or a revision might be taken for a path
	}
	out, err := s.git(ctx, repo, args...)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", repo.full(), err)
	}
	return parseCommits(out), nil
}

// parseCommits reads what commitFormat wrote.
func parseCommits(out []byte) []commit {
	fields := strings.Split(string(out), "\x00")
	commits := make([]commit, 0, len(fields)/commitFields)
	for ; len(fields) > commitFields; fields = fields[commitFields:] {
		commits = append(commits, commit{
			SHA: fields[0], Tree: fields[1], Parents: strings.Fields(fields[2]),
			Author:    person{fields[3], fields[4], moment(fields[5])},
			Committer: person{fields[6], fields[7], moment(fields[8])},
			Message:   strings.TrimRight(fields[9], "\n") + "\n",
		})
	}
	return commits
}

// moment reads a commit's time. What git cannot read as one (anything may be
// pushed) is the beginning of 1970: a strange commit must not stop the events
// of those after it.
func moment(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Unix(0, 0).UTC()
	}
	return t
}

// commit reads one commit by its SHA.
func (s *Server) commit(ctx context.Context, repo repository, sha string) (commit, error) {
	list, err := s.log(ctx, repo, 1, 0, sha)
	if err != nil {
		return commit{}, err
	}
	if len(list) == 0 {
		return commit{}, unknown("commit", sha)
	}
	return list[0], nil
}

// count tells how many commits the revisions hold.
func (s *Server) count(ctx context.Context, repo repository, revisions ...string) (int, error) {
	out, err := s.git(ctx, repo, append(append([]string{"rev-list", "--count", "--end-of-options"}, revisions...), "--")...)
	if err != nil {
		return 0, fmt.Errorf("count commits of %s: %w", repo.full(), err)
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// resolve finds the commit that a branch, a tag or a whole or abbreviated SHA
// means: 404 for none, 422 when an abbreviation means several.
func (s *Server) resolve(ctx context.Context, repo repository, ref string) (string, error) {
	if err := checkRef("ref", ref); err != nil {
		return "", err
	}
	out, err := s.git(ctx, repo, "rev-parse", "--verify", "--end-of-options", ref+"^{commit}")
	var exit *gitcmd.ExitError
	switch {
	case err == nil:
		return strings.TrimSpace(string(out)), nil
	case gitcmd.Says(err, "is ambiguous"):
		return "", unprocessable("ref", ref, "the abbreviation means more than one commit; give more of it")
	case errors.As(err, &exit) && !gitcmd.Says(err, "not a git repository"):
		return "", unknown("commit", ref)
	default:
		return "", fmt.Errorf("resolve %s in %s: %w", web.Echo(ref), repo.full(), err)
	}
}

// changed lists the paths that a commit changed against its first parent.
type changed struct{ added, removed, modified []string }

// changes reads the changed paths of commits, all by one process.
func (s *Server) changes(ctx context.Context, repo repository, commits []commit) (map[string]changed, error) {
	out, err := s.diffTree(ctx, repo, commits, "--name-status")
	return parseChanges(out), err
}

// diffTree compares each commit with its first parent: its SHA, then an entry
// per path in the format, each ended by NUL.
func (s *Server) diffTree(ctx context.Context, repo repository, commits []commit, format string) ([]byte, error) {
	var in bytes.Buffer
	for _, c := range commits {
		in.WriteString(c.SHA + "\n")
	}
	out, err := s.reads.Run(ctx, gitcmd.Call{
		Args:   []string{"diff-tree", "--stdin", "-r", "-z", "--root", format, "--no-renames", "--diff-merges=first-parent"},
		GitDir: s.dir(repo), Settings: settings, Stdin: &in,
	})
	if err != nil {
		return nil, fmt.Errorf("changes of %s: %w", repo.full(), err)
	}
	return out, nil
}

// parseChanges reads the output of diff-tree -z: a commit's SHA, then pairs of a letter and a path.
func parseChanges(out []byte) map[string]changed {
	all := map[string]changed{}
	fields := strings.Split(string(out), "\x00")
	sha := ""
	for i := 0; i < len(fields); i++ {
		switch f := strings.TrimSpace(fields[i]); {
		case fullSHA.MatchString(f):
			sha = f
			all[sha] = changed{}
		case f != "" && i+1 < len(fields):
			i++
			all[sha] = all[sha].with(f[0], fields[i])
		}
	}
	return all
}

// with adds a path under its letter: A, D, or a kind of modification.
func (c changed) with(letter byte, path string) changed {
	switch letter {
	case 'A':
		c.added = append(c.added, path)
	case 'D':
		c.removed = append(c.removed, path)
	default:
		c.modified = append(c.modified, path)
	}
	return c
}

// refsOnDisk reads branches and tags with the objects they name.
func (s *Server) refsOnDisk(ctx context.Context, repo repository) (map[string]string, error) {
	out, err := s.git(ctx, repo, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/", "refs/tags/")
	if err != nil {
		return nil, fmt.Errorf("refs of %s: %w", repo.full(), err)
	}
	refs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if sha, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			refs[name] = sha
		}
	}
	return refs, nil
}

// sizeOnDisk is what the files under dir hold, in KiB. Files that vanish
// meanwhile count nothing.
func sizeOnDisk(dir string) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			if info, infoErr := d.Info(); infoErr == nil && info.Mode().IsRegular() {
				total += info.Size()
			}
		}
		return nil
	})
	return total >> 10
}
