package git

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"platform.dev/platform/flowclient/gitea/gitcmd"
)

// pair is what git says of a base and a head. Of the same two commits it is
// the same for ever.
type pair struct {
	mergeBase                   string // empty when they have no commit in common
	mergeable                   bool
	conflicts                   []string // paths
	additions, deletions, files int
}

// pairsKept is how many pairs are remembered; listing asks for the same again and again.
const pairsKept = 2000

// pairs remembers what was found out.
type pairs struct {
	mu    sync.Mutex
	known map[string]pair
}

func newPairs() *pairs { return &pairs{known: map[string]pair{}} }

func (p *pairs) get(key string) (pair, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.known[key]
	return found, ok
}

// put remembers; when there are too many, it begins anew.
func (p *pairs) put(key string, found pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= pairsKept {
		clear(p.known)
	}
	p.known[key] = found
}

// pair compares two commits.
func (s *Server) pair(ctx context.Context, repo repository, base, head string) (pair, error) {
	key := strconv.FormatInt(repo.ID, 10) + " " + base + " " + head
	if found, ok := s.pairs.get(key); ok {
		return found, nil
	}
	found, err := s.comparePair(ctx, repo, base, head)
	if err != nil {
		return pair{}, fmt.Errorf("compare %s and %s of %s: %w", base, head, repo.full(), err)
	}
	s.pairs.put(key, found)
	return found, nil
}

// comparePair is pair without its memory.
func (s *Server) comparePair(ctx context.Context, repo repository, base, head string) (found pair, err error) {
	if found.mergeBase, err = s.mergeBase(ctx, repo, base, head); err != nil || found.mergeBase == "" {
		return found, err
	}
	tree, conflicts, err := s.mergeTree(ctx, repo, base, head)
	if err != nil {
		return pair{}, err
	}
	found.mergeable, found.conflicts = tree != "", conflicts
	files, err := s.changedFiles(ctx, repo, found.mergeBase, head)
	if err != nil {
		return pair{}, err
	}
	found.files = len(files)
	for _, f := range files {
		found.additions += f.Additions
		found.deletions += f.Deletions
	}
	return found, nil
}

// mergeBase is the best common ancestor of two commits; empty when there is none.
func (s *Server) mergeBase(ctx context.Context, repo repository, a, b string) (string, error) {
	out, err := s.git(ctx, repo, "merge-base", a, b)
	if exitCode(err) == 1 {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// contains tells whether a commit is reached from another.
func (s *Server) contains(ctx context.Context, repo repository, head, sha string) (bool, error) {
	_, err := s.git(ctx, repo, "merge-base", "--is-ancestor", sha, head)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// mergeTree merges two commits without a work tree: the tree that comes of it,
// or the paths that conflict.
func (s *Server) mergeTree(ctx context.Context, repo repository, base, head string) (tree string, conflicts []string, err error) {
	out, err := s.git(ctx, repo, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", base, head)
	fields := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	switch {
	case exitCode(err) == 1 && len(fields) > 0: // the tree with conflict marks, then their paths
		return "", fields[1:], nil
	case err != nil:
		return "", nil, err
	case len(fields) == 0 || !fullSHA.MatchString(fields[0]):
		return "", nil, errors.New("git merge-tree gave no tree")
	}
	return fields[0], nil, nil
}

// exitCode is the status that git ended with; 0 when it is no such error.
func exitCode(err error) int {
	var exit *gitcmd.ExitError
	if errors.As(err, &exit) {
		return exit.Code
	}
	return 0
}

// changedFile is one file of a comparison.
type changedFile struct {
	Name, Previous       string // Previous: of a renamed or copied one
	Status               string // added, deleted, changed, renamed, copied
	Additions, Deletions int
}

// fileStatuses are Gitea's words for git's letters; any other letter is a change.
var fileStatuses = map[string]string{"A": "added", "D": "deleted", "R": "renamed", "C": "copied"}

// changedFiles lists what differs between two commits, by path.
func (s *Server) changedFiles(ctx context.Context, repo repository, from, to string) ([]changedFile, error) {
	out, err := s.git(ctx, repo, "diff-tree", "-r", "-z", "-M", "--raw", "--numstat", "--no-ext-diff", "--no-textconv", from, to)
	if err != nil {
		return nil, fmt.Errorf("changed files of %s: %w", repo.full(), err)
	}
	return parseChangedFiles(string(out)), nil
}

// parseChangedFiles reads diff-tree -z --raw --numstat: first a line with the
// letter and one or two paths for each file, then one with the counts of lines.
func parseChangedFiles(out string) []changedFile {
	var files []changedFile
	at := map[string]int{}
	fields := strings.Split(out, "\x00")
	next := func() string { // of a cut-off output the rest is empty
		if len(fields) == 0 {
			return ""
		}
		first := fields[0]
		fields = fields[1:]
		return first
	}
	for len(fields) > 0 {
		line := next()
		if strings.HasPrefix(line, ":") {
			letter := line[strings.LastIndexByte(line, ' ')+1:] // R with a likeness: R087
			f := changedFile{Name: next(), Status: fileStatuses[letter[:min(1, len(letter))]]}
			if f.Status == "" {
				f.Status = "changed"
			}
			if f.Status == "renamed" || f.Status == "copied" {
				f.Previous, f.Name = f.Name, next()
			}
			at[f.Name] = len(files)
			files = append(files, f)
			continue
		}
		columns := strings.SplitN(line, "\t", 3)
		if len(columns) != 3 {
			continue
		}
		name := columns[2]
		if name == "" {
			_, name = next(), next()
		}
		if i, ok := at[name]; ok {
			files[i].Additions, _ = strconv.Atoi(columns[0]) // "-" for a binary file, which has no lines
			files[i].Deletions, _ = strconv.Atoi(columns[1])
		}
	}
	return files
}
