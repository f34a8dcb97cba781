package gitea

import (
	"context"

	sdk "code.gitea.io/sdk/gitea"

	"platform.dev/platform/flowclient"
)

// EnsureHook creates a hook with the URL, or updates the one there is: a
// secret cannot be read back, so it is always written.
func (c *Client) EnsureHook(ctx context.Context, repo string, h flowclient.Hook) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	if h.Secret == "" {
		return &flowclient.Invalid{Field: "secret", Value: "", Why: "a hook needs one"}
	}
	api, err := c.api(ctx)
	if err != nil {
		return err
	}
	id, err := findHook(api, repo, h.URL)
	if err != nil {
		return err
	}
	config := map[string]string{"url": h.URL, "content_type": "json", "secret": h.Secret}
	if id != 0 {
		active := true
		resp, err := api.EditRepoHook(owner, name, id, sdk.EditHookOption{Config: config, Events: h.Events, Active: &active})
		return failed(resp, err, "hook", h.URL)
	}
	_, resp, err := api.CreateRepoHook(owner, name, sdk.CreateHookOption{Type: sdk.HookTypeGitea, Config: config, Events: h.Events, Active: true})
	return failed(resp, err, "hook", h.URL)
}

// findHook gives the id of the repository's oldest hook with the URL; 0 when there is none.
func findHook(api *sdk.Client, repo, target string) (int64, error) {
	owner, name, err := split(repo)
	if err != nil {
		return 0, err
	}
	for page := 1; ; page++ {
		hooks, resp, err := api.ListRepoHooks(owner, name, sdk.ListHooksOptions{ListOptions: sdk.ListOptions{Page: page, PageSize: pageSize}})
		if err != nil {
			return 0, failed(resp, err, "repository", repo)
		}
		for _, h := range hooks {
			if h.Config["url"] == target {
				return h.ID, nil
			}
		}
		if len(hooks) < pageSize {
			return 0, nil
		}
	}
}
