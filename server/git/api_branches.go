package git

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// branchShape is a branch as Gitea writes one; no branch is protected here.
type branchShape struct {
	Name                string        `json:"name"`
	Commit              payloadCommit `json:"commit"`
	Protected           bool          `json:"protected"`
	RequiredApprovals   int64         `json:"required_approvals"`
	EnableStatusCheck   bool          `json:"enable_status_check"`
	StatusCheckContexts []string      `json:"status_check_contexts"`
	UserCanPush         bool          `json:"user_can_push"`
	UserCanMerge        bool          `json:"user_can_merge"`
	Protection          string        `json:"effective_branch_protection_name"`
}

// branch describes a branch whose head is sha.
func (s *Server) branch(ctx context.Context, c *call, name, sha string) (branchShape, error) {
	head, err := s.commit(ctx, c.repo, sha)
	if err != nil {
		return branchShape{}, err
	}
	may, shape := c.who.may(writeRepo), s.payloadCommit(c.repo, head, changed{})
	shape.Verification = unverified
	return branchShape{Name: name, Commit: shape, StatusCheckContexts: []string{}, UserCanPush: may, UserCanMerge: may}, nil
}

// listBranches answers GET branches.
func (s *Server) listBranches(c *call) (int, any, error) {
	refs, err := s.refsOnDisk(c.Context(), c.repo)
	if err != nil {
		return 0, nil, err
	}
	var names []string
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			names = append(names, name)
		}
	}
	shapes := []branchShape{}
	for _, name := range paged(c, names) {
		shape, err := s.branch(c.Context(), c, name, refs["refs/heads/"+name])
		if err != nil {
			return 0, nil, err
		}
		shapes = append(shapes, shape)
	}
	return http.StatusOK, shapes, nil
}

// getBranch answers GET branches/{branch}.
func (s *Server) getBranch(c *call) (int, any, error) {
	name := c.PathValue("branch")
	refs, err := s.refsOnDisk(c.Context(), c.repo)
	if err != nil {
		return 0, nil, err
	}
	sha, ok := refs["refs/heads/"+name]
	if !ok {
		return 0, nil, unknown("branch", name)
	}
	shape, err := s.branch(c.Context(), c, name, sha)
	return http.StatusOK, shape, err
}

// deleteBranch answers DELETE branches/{branch}. Pull requests from it and onto it are closed by that.
func (s *Server) deleteBranch(c *call) (int, any, error) {
	name := c.PathValue("branch")
	err := s.alone(c.Context(), c.repo, func(repo repository) error {
		ctx := context.WithoutCancel(c.Context())
		refs, err := s.refsOnDisk(ctx, repo)
		if err != nil {
			return err
		}
		ref := "refs/heads/" + name
		switch {
		case refs[ref] == "":
			return unknown("branch", name)
		case name == repo.DefaultBranch:
			return &refusal{http.StatusForbidden, fmt.Sprintf("can not delete the default branch %q", name)}
		}
		if _, err := s.git(ctx, repo, "update-ref", "-d", ref, refs[ref]); err != nil {
			return fmt.Errorf("delete branch %s of %s: %w", name, repo.full(), err)
		}
		return s.record(ctx, repo, s.cfg.AdminUser)
	})
	return http.StatusNoContent, nil, err
}

// refShape is a ref as Gitea writes one.
type refShape struct {
	Ref    string `json:"ref"`
	URL    string `json:"url"`
	Object struct {
		Type string `json:"type"`
		SHA  string `json:"sha"`
		URL  string `json:"url"`
	} `json:"object"`
}

// listRefs answers GET git/refs and GET git/refs/{ref}: those that begin so.
func (s *Server) listRefs(c *call) (int, any, error) {
	prefix := "refs/" + c.PathValue("ref")
	out, err := s.git(c.Context(), c.repo, "for-each-ref", "--format=%(objectname) %(objecttype) %(refname)", "refs/heads/", "refs/tags/")
	if err != nil {
		return 0, nil, err
	}
	shapes := []refShape{}
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(fields) < 3 || !strings.HasPrefix(fields[2], prefix) {
			continue
		}
		shape := refShape{Ref: fields[2], URL: s.apiURL(c.repo) + "/git/" + fields[2]}
		shape.Object.SHA, shape.Object.Type = fields[0], fields[1]
		shape.Object.URL = s.apiURL(c.repo) + "/git/" + fields[1] + "s/" + fields[0]
		shapes = append(shapes, shape)
	}
	if len(shapes) == 0 && c.PathValue("ref") != "" {
		return 0, nil, unknown("ref", prefix)
	}
	return http.StatusOK, shapes, nil
}
