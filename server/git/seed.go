package git

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"platform.dev/platform/flowclient/gitea/gitcmd"
)

// Seed commits the files to the default branch of the repository "owner/name"
// if it has no branch yet; otherwise it does nothing. Executable files stay so.
func (s *Server) Seed(ctx context.Context, full string, files fs.FS, message string) error {
	repo, err := s.repository(ctx, full)
	if err != nil {
		return err
	}
	m := s.lock(repo.ID)
	m.Lock()
	defer m.Unlock()
	refs, err := s.refsOnDisk(ctx, repo)
	if err != nil {
		return err
	}
	if countBranches(refs) == 0 {
		stream := gitcmd.NewImport(gitcmd.ImportHead{
			Ref: "refs/heads/" + repo.DefaultBranch, Name: s.cfg.AdminUser, Email: s.cfg.AdminUser + "@noreply.localhost",
			At: s.cfg.Now(), Message: message,
		})
		if err := addAll(stream, files); err != nil {
			return fmt.Errorf("seed %s: %w", full, err)
		}
		if _, err := s.reads.Run(ctx, gitcmd.Call{
			Args: []string{"fast-import", "--quiet", "--done"}, GitDir: s.dir(repo), Settings: settings, Stdin: stream.Reader(),
		}); err != nil {
			return fmt.Errorf("seed %s: %w", full, err)
		}
	}
	return s.record(ctx, repo, s.cfg.AdminUser)
}

// addAll adds every regular file.
func addAll(to *gitcmd.Import, files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		mode := gitcmd.ModeFile
		if info.Mode()&0o111 != 0 {
			mode = gitcmd.ModeExecutable
		}
		to.Write(path, mode, content)
		return nil
	})
}

// Touched lists the paths that differ between two commits of the repository
// with the clone URL, as the control plane asks when a push payload lists only
// some of its commits. A before of zeros, or one that is no longer there,
// means every file of after.
func (s *Server) Touched(ctx context.Context, cloneURL, before, after string) ([]string, error) {
	full, ok := strings.CutPrefix(strings.TrimSuffix(cloneURL, ".git"), s.cfg.BaseURL+"/")
	if !ok {
		return nil, unknown("repository", cloneURL)
	}
	repo, err := s.repository(ctx, full)
	if err != nil {
		return nil, err
	}
	if after, err = s.resolve(ctx, repo, after); err != nil {
		return nil, err
	}
	args := []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", after}
	if before != zeroSHA {
		switch from, err := s.resolve(ctx, repo, before); {
		case err == nil:
			args = []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", from, after}
		case !isUnknown(err):
			return nil, err
		}
	}
	out, err := s.git(ctx, repo, args...)
	if err != nil {
		return nil, fmt.Errorf("touched files of %s: %w", full, err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
}
