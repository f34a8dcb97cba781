package git

import (
	"net/http"
	"net/url"
)

// changedFileShape is one file of a pull request as Gitea writes one.
type changedFileShape struct {
	Filename    string `json:"filename"`
	Previous    string `json:"previous_filename,omitempty"`
	Status      string `json:"status"`
	Additions   int    `json:"additions"`
	Deletions   int    `json:"deletions"`
	Changes     int    `json:"changes"`
	HTMLURL     string `json:"html_url,omitempty"` // files have no page
	ContentsURL string `json:"contents_url,omitempty"`
	RawURL      string `json:"raw_url,omitempty"`
}

// compared finds the pull request of a request and what git says of it.
func (s *Server) compared(c *call) (pull, pair, error) {
	p, err := s.pull(c.Context(), c.repo, c.PathValue("number"))
	if err != nil {
		return pull{}, pair{}, err
	}
	refs, err := s.refsOnDisk(c.Context(), c.repo)
	if err != nil {
		return pull{}, pair{}, err
	}
	facts, err := s.pullPair(c.Context(), c.repo, p, refs)
	return p, facts, err
}

// listPullFiles answers GET pulls/{number}/files.
func (s *Server) listPullFiles(c *call) (int, any, error) {
	p, facts, err := s.compared(c)
	if err != nil {
		return 0, nil, err
	}
	var files []changedFile
	if facts.mergeBase != "" {
		if files, err = s.changedFiles(c.Context(), c.repo, facts.mergeBase, p.Head); err != nil {
			return 0, nil, err
		}
	}
	shapes, api := []changedFileShape{}, s.apiURL(c.repo)
	for _, f := range paged(c, files) {
		place := (&url.URL{Path: f.Name}).EscapedPath()
		shapes = append(shapes, changedFileShape{
			Filename: f.Name, Previous: f.Previous, Status: f.Status, Additions: f.Additions, Deletions: f.Deletions, Changes: f.Additions + f.Deletions,
			ContentsURL: api + "/contents/" + place + "?ref=" + p.Head, RawURL: api + "/raw/" + place + "?ref=" + p.Head,
		})
	}
	return http.StatusOK, shapes, nil
}

// listPullCommits answers GET pulls/{number}/commits: newest first.
func (s *Server) listPullCommits(c *call) (int, any, error) {
	p, facts, err := s.compared(c)
	if err != nil {
		return 0, nil, err
	}
	if facts.mergeBase == "" {
		return http.StatusOK, []commitShape{}, nil
	}
	return s.commitsBetween(c, facts.mergeBase, p.Head)
}

// commitsBetween answers a page of the commits that head has and base has not.
func (s *Server) commitsBetween(c *call, base, head string) (int, any, error) {
	total, err := s.count(c.Context(), c.repo, head, "^"+base)
	if err != nil {
		return 0, nil, err
	}
	c.total(total)
	commits, err := s.log(c.Context(), c.repo, c.page.limit, c.page.skip(), head, "^"+base)
	if err != nil {
		return 0, nil, err
	}
	shapes, err := s.shapeCommits(c.Context(), c.repo, commits, c.URL.Query().Get("stat") != "false")
	return http.StatusOK, shapes, err
}
