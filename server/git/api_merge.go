package git

import "net/http"

// mergePull answers POST pulls/{number}/merge with Gitea's statuses: 405 for a
// style that is not allowed and for what is merged already, 404 for a closed
// pull request, 409 for a head that moved and for a conflict.
func (s *Server) mergePull(c *call) (int, any, error) {
	var in struct {
		Do           string `json:"Do"`
		Title        string `json:"MergeTitleField"`
		Message      string `json:"MergeMessageField"`
		Head         string `json:"head_commit_id"`
		DeleteBranch bool   `json:"delete_branch_after_merge"`
		WhenChecked  bool   `json:"merge_when_checks_succeed"`
	}
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	switch {
	case in.Do == "":
		in.Do = "merge"
	case len(in.Title) > maxTitle:
		return 0, nil, unprocessable("MergeTitleField", in.Title, "want at most 255 bytes")
	case len(in.Message) > maxText:
		return 0, nil, unprocessable("MergeMessageField", in.Message, "want at most 65536 bytes")
	}
	if in.WhenChecked {
		return 0, nil, unprocessable("merge_when_checks_succeed", "true", "no checks are waited for here; merge when they have succeeded")
	}
	return http.StatusOK, nil, s.merge(c.Context(), c.repo, c.PathValue("number"), mergeRequest{
		Style: in.Do, Title: in.Title, Message: in.Message, Head: in.Head, DeleteBranch: in.DeleteBranch,
	})
}

// isMerged answers GET pulls/{number}/merge: 204 when it is merged, else 404.
func (s *Server) isMerged(c *call) (int, any, error) {
	p, err := s.pull(c.Context(), c.repo, c.PathValue("number"))
	if err == nil && p.State != pullMerged {
		err = &refusal{http.StatusNotFound, "the pull request is not merged"}
	}
	return http.StatusNoContent, nil, err
}
