// Package gitea is the git port over Gitea's API and git smart HTTP: against
// the embedded git server and against a real Gitea alike. The API is reached
// through Gitea's own SDK, pushes go through the system's git.
//
// It knows nothing of projects, builds or releases.
package gitea

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/gitea/gitcmd"
)

const (
	apiTimeout = 30 * time.Second
	pushers    = 4  // git processes at one time
	pageSize   = 50 // items of one page: Gitea's largest by default
)

// Config is what a Client needs; every field but Transport and MergePatience is required.
type Config struct {
	BaseURL string // "http://127.0.0.1:3001"; the API and git are both under it
	Token   string // may write repositories
	// User is the account that the token belongs to; repositories of its own
	// are created in its name, all others in an organisation's.
	User string
	// Transport carries calls of the API; nil is the default one. Pushes
	// always go to BaseURL over a socket, since git needs one.
	Transport http.RoundTripper
	Dir       string // scratch directories of pushes; made with mode 0700
	Log       *slog.Logger
	Now       func() time.Time
	// MergePatience is how long MergePull asks again while the server computes
	// whether a pull request can be merged; 15 s when 0.
	MergePatience time.Duration
}

// Client is the git port (flowclient.Git and flowclient.Pulls).
type Client struct {
	cfg        Config
	http       *http.Client
	git        *gitcmd.Runner
	commenting sync.Mutex // one comment is looked for and written at a time
	labelling  sync.Mutex // and one label
}

var _ flowclient.Git = (*Client)(nil)

// New checks the configuration and finds git. It calls nobody.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil:
		return nil, errors.New("gitea: BaseURL: want http://host:port without credentials")
	case cfg.Token == "" || cfg.User == "":
		return nil, errors.New("gitea: Token and User are needed")
	case cfg.Dir == "" || cfg.Now == nil || cfg.Log == nil:
		return nil, errors.New("gitea: Dir, Now and Log are needed")
	}
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("gitea: %w", err)
	}
	git, err := gitcmd.New(cfg.Dir, pushers)
	if err != nil {
		return nil, fmt.Errorf("gitea: %w", err)
	}
	return &Client{cfg: cfg, git: git, http: &http.Client{Transport: cfg.Transport, Timeout: apiTimeout}}, nil
}

// api is an SDK client for one call: its context cannot be changed safely on a
// shared one, and without a version it would ask for the server's each time.
func (c *Client) api(ctx context.Context) (*sdk.Client, error) {
	api, err := sdk.NewClient(c.cfg.BaseURL, sdk.SetHTTPClient(c.http), sdk.SetToken(c.cfg.Token), sdk.SetContext(ctx), sdk.SetGiteaVersion(""))
	if err != nil {
		return nil, &flowclient.Upstream{Part: part, Err: err}
	}
	return api, nil
}

// at is an SDK client for one call about a repository, with the halves of the repository's name.
func (c *Client) at(ctx context.Context, repo string) (api *sdk.Client, owner, name string, err error) {
	if owner, name, err = split(repo); err != nil {
		return nil, "", "", err
	}
	api, err = c.api(ctx)
	return api, owner, name, err
}

// part is how this port is named in an *Upstream.
const part = "git server"

// split gives the halves of "owner/name".
func split(repo string) (owner, name string, err error) {
	owner, name, ok := strings.Cut(repo, "/")
	if !ok || owner == "" || name == "" || strings.ContainsAny(repo, " ?#%\\") || strings.Contains(name, "/") || strings.Contains(repo, "..") {
		return "", "", &flowclient.Invalid{Field: "repository", Value: repo, Why: "want owner/name"}
	}
	return owner, name, nil
}

// failed maps an error of the SDK by the status that came with it. kind and
// name say what was asked for.
func failed(resp *sdk.Response, err error, kind, name string) error {
	if err == nil {
		return nil
	}
	if resp == nil || resp.Response == nil {
		return &flowclient.Upstream{Part: part, Err: err}
	}
	switch resp.StatusCode {
	case http.StatusNotFound:
		return &flowclient.NotFound{Kind: kind, Name: name}
	case http.StatusConflict:
		return fmt.Errorf("%s %s: %w", kind, name, flowclient.ErrExists)
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return &flowclient.Invalid{Field: kind, Value: name, Why: err.Error()}
	}
	return &flowclient.Upstream{Part: part, Err: fmt.Errorf("%s %s: %s: %w", kind, name, resp.Status, err)}
}

// basic is the Authorization header that git sends: Gitea takes tokens over
// git's paths as a password only.
func (c *Client) basic() string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(c.cfg.User+":"+c.cfg.Token))
}
