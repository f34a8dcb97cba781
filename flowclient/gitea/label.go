package gitea

import (
	"context"
	"net/http"
	"regexp"

	sdk "code.gitea.io/sdk/gitea"

	"platform.dev/platform/flowclient"
)

const maxLabel = 50 // bytes of a label's name, as Gitea has it

var labelColor = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// EnsureLabel makes a label of the repository, unless it has one of that name.
// *NotFound when there is no such repository.
func (c *Client) EnsureLabel(ctx context.Context, repo string, l flowclient.Label) error {
	owner, name, err := split(repo)
	switch {
	case err != nil:
		return err
	case l.Name == "" || len(l.Name) > maxLabel:
		return &flowclient.Invalid{Field: "name", Value: l.Name, Why: "want 1 to 50 bytes"}
	case !labelColor.MatchString(l.Color):
		return &flowclient.Invalid{Field: "color", Value: l.Color, Why: "want a # and six hex digits, such as #1d7f4e"}
	}
	c.labelling.Lock() // Gitea makes a second one of the same name, and two at one time would find none
	defer c.labelling.Unlock()
	api, err := c.api(ctx)
	if err != nil {
		return err
	}
	for page := 1; ; page++ {
		there, resp, err := api.ListRepoLabels(owner, name, sdk.ListLabelsOptions{ListOptions: sdk.ListOptions{Page: page, PageSize: pageSize}})
		if err != nil {
			return failed(resp, err, "repository", repo)
		}
		for _, one := range there {
			if one != nil && one.Name == l.Name {
				return nil
			}
		}
		if len(there) < pageSize {
			break
		}
	}
	_, resp, err := api.CreateLabel(owner, name, sdk.CreateLabelOption{Name: l.Name, Color: l.Color, Description: l.Description})
	if err != nil && resp != nil && resp.StatusCode == http.StatusConflict { // somebody was faster
		return nil
	}
	return failed(resp, err, "label", l.Name)
}
