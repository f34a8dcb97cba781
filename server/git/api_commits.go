package git

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// metaShape points at an object.
type metaShape struct {
	URL     string    `json:"url"`
	SHA     string    `json:"sha"`
	Created time.Time `json:"created"`
}

type signatureShape struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Date  string `json:"date"`
}

type commitBodyShape struct {
	URL          string         `json:"url"`
	Author       signatureShape `json:"author"`
	Committer    signatureShape `json:"committer"`
	Message      string         `json:"message"`
	Tree         metaShape      `json:"tree"`
	Verification verification   `json:"verification"`
}

// verification is what is known of a commit's signature.
type verification struct {
	Verified  bool   `json:"verified"`
	Reason    string `json:"reason"`
	Signature string `json:"signature"`
	Signer    any    `json:"signer"`
	Payload   string `json:"payload"`
}

// unverified is what is known of every commit's.
var unverified = verification{Reason: "signatures are not checked"}

// statsShape counts a commit's lines.
type statsShape struct {
	Total     int `json:"total"`
	Additions int `json:"additions"`
	Deletions int `json:"deletions"`
}

type fileShape struct {
	Filename string `json:"filename"`
	Status   string `json:"status"`
}

// commitShape is a commit as Gitea writes one.
type commitShape struct {
	metaShape
	HTMLURL   string          `json:"html_url"`
	Commit    commitBodyShape `json:"commit"`
	Author    *userShape      `json:"author"` // null for an address that is not the account's
	Committer *userShape      `json:"committer"`
	Parents   []metaShape     `json:"parents"`
	Files     []fileShape     `json:"files"`
	Stats     *statsShape     `json:"stats"` // null when it was not asked for
}

func shapeSignature(p person) signatureShape {
	return signatureShape{p.Name, p.Email, p.When.Format(time.RFC3339)}
}

// who is the user when the person has its address, else nobody.
func (u userShape) who(p person) *userShape {
	if !strings.EqualFold(p.Email, u.Email) {
		return nil
	}
	return &u
}

// shapeCommits describes commits with the files that each changed, and counts their lines if asked to.
func (s *Server) shapeCommits(ctx context.Context, repo repository, commits []commit, count bool) ([]commitShape, error) {
	if len(commits) == 0 {
		return []commitShape{}, nil
	}
	paths, err := s.changes(ctx, repo, commits)
	if err != nil {
		return nil, err
	}
	var stats map[string]*statsShape
	if count {
		if stats, err = s.stats(ctx, repo, commits); err != nil {
			return nil, err
		}
	}
	me, err := s.owner(ctx, s.cfg.AdminUser)
	if err != nil {
		return nil, err
	}
	api, account := s.apiURL(repo), s.userShape(me)
	shapes := make([]commitShape, 0, len(commits))
	for _, c := range commits {
		shape := commitShape{
			metaShape: metaShape{api + "/git/commits/" + c.SHA, c.SHA, c.Committer.When},
			HTMLURL:   s.webURL(repo) + "/commit/" + c.SHA,
			Commit: commitBodyShape{
				URL: api + "/git/commits/" + c.SHA, Author: shapeSignature(c.Author), Committer: shapeSignature(c.Committer),
				Message: c.Message, Tree: metaShape{api + "/git/trees/" + c.Tree, c.Tree, c.Committer.When},
				Verification: unverified,
			},
			Author: account.who(c.Author), Committer: account.who(c.Committer),
			Parents: []metaShape{}, Files: []fileShape{}, Stats: stats[c.SHA],
		}
		for _, p := range c.Parents {
			shape.Parents = append(shape.Parents, metaShape{URL: api + "/git/commits/" + p, SHA: p})
		}
		for status, list := range map[string][]string{"added": paths[c.SHA].added, "removed": paths[c.SHA].removed, "modified": paths[c.SHA].modified} {
			for _, name := range list {
				shape.Files = append(shape.Files, fileShape{name, status})
			}
		}
		sortFiles(shape.Files)
		shapes = append(shapes, shape)
	}
	return shapes, nil
}

// stats counts the lines that commits added and removed, all by one process.
func (s *Server) stats(ctx context.Context, repo repository, commits []commit) (map[string]*statsShape, error) {
	out, err := s.diffTree(ctx, repo, commits, "--numstat")
	if err != nil {
		return nil, err
	}
	all := map[string]*statsShape{}
	var of *statsShape
	for field := range strings.SplitSeq(string(out), "\x00") {
		columns := strings.SplitN(strings.TrimSpace(field), "\t", 3)
		if fullSHA.MatchString(columns[0]) {
			of = &statsShape{}
			all[columns[0]] = of
		} else if len(columns) == 3 && of != nil {
			added, _ := strconv.Atoi(columns[0]) // "-" for a binary file, which has no lines
			removed, _ := strconv.Atoi(columns[1])
			of.Additions, of.Deletions, of.Total = of.Additions+added, of.Deletions+removed, of.Total+added+removed
		}
	}
	return all, nil
}

// getCommit answers GET git/commits/{sha}: a whole or abbreviated SHA, or the
// name of a branch or tag. With .diff or .patch at the end, the change as text.
func (s *Server) getCommit(c *call) (int, any, error) {
	ref, format := c.PathValue("sha"), ""
	for _, end := range []string{".diff", ".patch"} {
		if name, ok := strings.CutSuffix(ref, end); ok {
			ref, format = name, end
		}
	}
	sha, err := s.resolve(c.Context(), c.repo, ref)
	if err != nil {
		return 0, nil, err
	}
	switch format {
	case ".diff":
		text, err := s.git(c.Context(), c.repo, "diff-tree", "--root", "-p", "--no-color", "--no-ext-diff", "--no-commit-id", "--diff-merges=first-parent", sha)
		return http.StatusOK, raw(text), err
	case ".patch":
		text, err := s.git(c.Context(), c.repo, "format-patch", "--stdout", "--no-ext-diff", "-1", sha)
		return http.StatusOK, raw(text), err
	}
	one, err := s.commit(c.Context(), c.repo, sha)
	if err != nil {
		return 0, nil, err
	}
	shapes, err := s.shapeCommits(c.Context(), c.repo, []commit{one}, c.URL.Query().Get("stat") != "false")
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, shapes[0], nil
}

// listCommits answers GET commits?sha=: newest first, by pages.
func (s *Server) listCommits(c *call) (int, any, error) {
	refs, err := s.refsOnDisk(c.Context(), c.repo)
	if err != nil {
		return 0, nil, err
	}
	if countBranches(refs) == 0 {
		return 0, nil, conflict("Git Repository is empty.")
	}
	ref := c.URL.Query().Get("sha")
	if ref == "" {
		ref = c.repo.DefaultBranch
	}
	sha, err := s.resolve(c.Context(), c.repo, ref)
	if err != nil {
		return 0, nil, err
	}
	total, err := s.count(c.Context(), c.repo, sha)
	if err != nil {
		return 0, nil, err
	}
	commits, err := s.log(c.Context(), c.repo, c.page.limit, c.page.skip(), sha)
	if err != nil {
		return 0, nil, err
	}
	c.total(total)
	c.header.Set("X-Total", fmt.Sprint(total))
	shapes, err := s.shapeCommits(c.Context(), c.repo, commits, c.URL.Query().Get("stat") != "false")
	return http.StatusOK, shapes, err
}

// sortFiles orders by name.
func sortFiles(files []fileShape) {
	slices.SortFunc(files, func(a, b fileShape) int { return strings.Compare(a.Filename, b.Filename) })
}
