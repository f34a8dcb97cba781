package git

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"platform.dev/platform/flowclient/gitea/gitcmd"
)

const (
	maxFile    = 10 << 20 // bytes of a file that the API gives
	maxEntries = 5000     // of a directory
)

// entry is one line of a tree.
type entry struct {
	mode, kind, sha, path string
	size                  int64
}

// contentShape is a file or an entry of a directory as Gitea writes one.
type contentShape struct {
	Name            string     `json:"name"`
	Path            string     `json:"path"`
	SHA             string     `json:"sha"`
	LastCommitSHA   string     `json:"last_commit_sha,omitempty"` // this and its times for a file that was asked for itself
	LastCommitted   *time.Time `json:"last_committer_date,omitempty"`
	LastAuthored    *time.Time `json:"last_author_date,omitempty"`
	Type            string     `json:"type"` // file, dir, symlink, submodule
	Size            int64      `json:"size"`
	Encoding        *string    `json:"encoding"` // base64 for a file that was asked for itself, else null
	Content         *string    `json:"content"`
	Target          *string    `json:"target"` // of a symlink
	URL             string     `json:"url"`
	HTMLURL         *string    `json:"html_url"`
	GitURL          string     `json:"git_url"`
	DownloadURL     *string    `json:"download_url"`
	SubmoduleGitURL *string    `json:"submodule_git_url"`
	Links           linksShape `json:"_links"`
}

type linksShape struct {
	Self string  `json:"self"`
	Git  string  `json:"git"`
	HTML *string `json:"html"` // null: files have no page
}

// tree lists what lies at a path of a commit: the entry itself without a
// slash at the path's end, its children with one.
func (s *Server) tree(ctx context.Context, repo repository, sha, at string) ([]entry, error) {
	args := []string{"ls-tree", "-z", "-l", "--full-tree", sha}
	if at != "" {
		args = append(args, "--", at)
	}
	out, err := s.git(ctx, repo, args...)
	if err != nil {
		return nil, fmt.Errorf("tree %s of %s: %w", at, repo.full(), err)
	}
	var entries []entry
	for line := range strings.SplitSeq(string(out), "\x00") {
		meta, name, ok := strings.Cut(line, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 4 {
			continue
		}
		size, _ := strconv.ParseInt(fields[3], 10, 64) // "-" for what has no size
		entries = append(entries, entry{fields[0], fields[1], fields[2], name, size})
	}
	return entries, nil
}

// blob reads a file's content.
func (s *Server) blob(ctx context.Context, repo repository, e entry) ([]byte, error) {
	if e.size > maxFile {
		return nil, &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("%s holds %d bytes; clone the repository to read more than %d", e.path, e.size, maxFile)}
	}
	return s.reads.Run(ctx, gitcmd.Call{Args: []string{"cat-file", "blob", e.sha}, GitDir: s.dir(repo), Settings: settings, Output: maxFile})
}

// locate resolves ?ref= and the path of a request.
func (s *Server) locate(c *call) (sha, at string, err error) {
	ref := c.URL.Query().Get("ref")
	if ref == "" {
		ref = c.repo.DefaultBranch
	}
	at = strings.TrimSuffix(c.PathValue("path"), "/")
	if at != "" && (path.Clean(at) != at || strings.HasPrefix(at, "/") || strings.HasPrefix(at, "../") || at == ".." || at == ".") {
		return "", "", unprocessable("path", at, "want a path inside the repository")
	}
	sha, err = s.resolve(c.Context(), c.repo, ref)
	return sha, at, err
}

// found is what the path of a request names at its ?ref=: the entry of a file,
// the entries of a directory, or nothing.
func (s *Server) found(c *call) (sha, at string, entries []entry, err error) {
	if sha, at, err = s.locate(c); err != nil {
		return "", "", nil, err
	}
	entries, err = s.tree(c.Context(), c.repo, sha, at)
	return sha, at, entries, err
}

// getRaw answers GET raw/{path}?ref=: a file's bytes.
func (s *Server) getRaw(c *call) (int, any, error) {
	_, at, found, err := s.found(c)
	if err != nil {
		return 0, nil, err
	}
	if at == "" || len(found) != 1 || found[0].kind != "blob" {
		return 0, nil, unknown("file", at)
	}
	content, err := s.blob(c.Context(), c.repo, found[0])
	return http.StatusOK, raw(content), err
}

// getContents answers GET contents/{path}?ref=: a file with its content, or
// the list of a directory's entries without theirs.
func (s *Server) getContents(c *call) (int, any, error) {
	sha, at, found, err := s.found(c)
	if err != nil {
		return 0, nil, err
	}
	if at != "" && len(found) == 0 {
		return 0, nil, unknown("file", at)
	}
	if at != "" && found[0].kind != "tree" {
		shape := s.content(c, sha, found[0])
		last, err := s.log(c.Context(), c.repo, 1, 0, sha, "--", at)
		if err != nil {
			return 0, nil, err
		}
		if len(last) > 0 {
			shape.LastCommitSHA, shape.LastCommitted, shape.LastAuthored = last[0].SHA, &last[0].Committer.When, &last[0].Author.When
		}
		if found[0].kind == "blob" {
			text, err := s.blob(c.Context(), c.repo, found[0])
			if err != nil {
				return 0, nil, err
			}
			shape.fill(text)
		}
		return http.StatusOK, shape, nil
	}
	if at != "" {
		if found, err = s.tree(c.Context(), c.repo, sha, at+"/"); err != nil {
			return 0, nil, err
		}
	}
	shapes := []contentShape{}
	for _, e := range found[:min(len(found), maxEntries)] {
		shapes = append(shapes, s.content(c, sha, e))
	}
	return http.StatusOK, shapes, nil
}

// fill sets what only a file that was asked for itself carries.
func (c *contentShape) fill(text []byte) {
	if c.Type == "symlink" {
		target := string(text)
		c.Target = &target
		return
	}
	encoding, content := "base64", base64.StdEncoding.EncodeToString(text)
	c.Encoding, c.Content = &encoding, &content
}

// content describes an entry.
func (s *Server) content(c *call, sha string, e entry) contentShape {
	kind := map[string]string{"tree": "dir", "commit": "submodule", "blob": "file"}[e.kind]
	if e.mode == "120000" {
		kind = "symlink"
	}
	api := s.apiURL(c.repo)
	place := (&url.URL{Path: e.path}).EscapedPath()
	shape := contentShape{
		Name: path.Base(e.path), Path: e.path, SHA: e.sha, Type: kind, Size: e.size,
		URL: api + "/contents/" + place + "?ref=" + sha, GitURL: api + "/git/" + e.kind + "s/" + e.sha,
	}
	if kind == "file" {
		download := api + "/raw/" + place + "?ref=" + sha
		shape.DownloadURL = &download
	}
	shape.Links = linksShape{Self: shape.URL, Git: shape.GitURL}
	return shape
}
