package gitea

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"platform.dev/platform/flowclient"
)

// The limits of Files.
const (
	readFiles    = 500     // files of one directory tree
	readContent  = 1 << 20 // bytes of one file
	readDirs     = 200     // directories
	maxDirLength = 1024    // bytes of the directory's path
)

// Compare lists the commits reachable from head and not from base, newest
// first, at most limit; more tells that there are others.
func (c *Client) Compare(ctx context.Context, repo, base, head string, limit int) (commits []flowclient.Commit, more bool, err error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, false, err
	}
	for field, ref := range map[string]string{"base": base, "head": head} {
		if !branchOK(ref) {
			return nil, false, &flowclient.Invalid{Field: field, Value: ref, Why: "want a branch or a commit"}
		}
	}
	api, err := c.api(ctx)
	if err != nil {
		return nil, false, err
	}
	got, resp, err := api.CompareCommits(owner, name, base, head)
	if err != nil {
		return nil, false, c.missing(api, failed(resp, err, "commit", base+"..."+head), repo)
	}
	for _, one := range got.Commits[:min(len(got.Commits), max(limit, 0))] {
		commits = append(commits, commit(one))
	}
	return commits, got.TotalCommits > len(commits), nil
}

// Files reads the files below dir ("" for all) at ref by their paths, at most
// 1 MiB each and 500 files; *Invalid when there is more. There are none when
// the commit has no such directory. Links and submodules are left out.
func (c *Client) Files(ctx context.Context, repo, ref, dir string) (map[string]string, error) {
	dir = strings.Trim(dir, "/")
	if dir != "" && (len(dir) > maxDirLength || pathFault(dir) != "") {
		return nil, &flowclient.Invalid{Field: "dir", Value: dir, Why: "want a directory inside the repository"}
	}
	at, err := c.Commit(ctx, repo, ref) // every file of one commit, whatever is pushed meanwhile
	if err != nil {
		return nil, err
	}
	api, err := c.api(ctx)
	if err != nil {
		return nil, err
	}
	t := treeReader{api: api, repo: repo, sha: at.SHA, files: map[string]string{}}
	dirs, err := t.read(dir)
	if errors.As(err, new(*flowclient.Upstream)) {
		// Gitea fails here until it has taken note of a first push; listing commits waits for that.
		if _, noticed := c.Commits(ctx, repo, at.SHA, 1); noticed == nil {
			dirs, err = t.read(dir)
		}
	}
	if flowclient.IsNotFound(err) {
		return t.files, nil
	}
	for i := 0; i < len(dirs) && err == nil; i++ {
		if i >= readDirs {
			return nil, &flowclient.Invalid{Field: "dir", Value: dir, Why: fmt.Sprintf("it holds more than %d directories", readDirs)}
		}
		var below []string
		below, err = t.read(dirs[i])
		dirs = append(dirs, below...)
	}
	if err != nil {
		return nil, err
	}
	return t.files, nil
}

// treeReader collects the files of one commit.
type treeReader struct {
	api       *sdk.Client
	repo, sha string
	files     map[string]string
}

// read collects the files of a directory and lists the directories in it.
func (t *treeReader) read(dir string) (dirs []string, err error) {
	owner, name, err := split(t.repo)
	if err != nil {
		return nil, err
	}
	entries, resp, err := t.api.ListContents(owner, name, t.sha, dir)
	switch {
	case err != nil && resp != nil && resp.Response != nil && resp.StatusCode == http.StatusOK: // it is a file
		return nil, &flowclient.NotFound{Kind: "directory", Name: dir}
	case err != nil:
		return nil, failed(resp, err, "directory", dir)
	}
	for _, e := range entries {
		if e == nil || path.Dir("/"+e.Path) != path.Clean("/"+dir) {
			continue
		}
		switch {
		case e.Type == "dir":
			dirs = append(dirs, e.Path)
		case e.Type != "file":
		case e.Size > readContent:
			return nil, &flowclient.Invalid{Field: "file", Value: e.Path, Why: "it holds more than " + strconv.Itoa(readContent) + " bytes"}
		case len(t.files) >= readFiles:
			return nil, &flowclient.Invalid{Field: "dir", Value: dir, Why: fmt.Sprintf("there are more than %d files", readFiles)}
		default:
			if t.files[e.Path], err = t.content(owner, name, e.Path); err != nil {
				return nil, err
			}
		}
	}
	return dirs, nil
}

// content reads a file.
func (t *treeReader) content(owner, name, at string) (string, error) {
	body, resp, err := t.api.GetFileReader(owner, name, t.sha, at)
	if err != nil {
		return "", failed(resp, err, "file", at)
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, readContent))
	if err != nil {
		return "", &flowclient.Upstream{Part: part, Err: fmt.Errorf("read %s of %s: %w", at, t.repo, err)}
	}
	return string(text), nil
}
