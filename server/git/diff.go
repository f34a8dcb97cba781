package git

import (
	"bytes"
	"context"
	"strings"

	"platform.dev/platform/flowclient/gitea/gitcmd"
)

// diff reads a commit's change against its first parent, or what the second of
// two commits changes against the first, at most maxDiff bytes of it.
func (s *Server) diff(ctx context.Context, repo repository, commits ...string) (text string, cut bool, err error) {
	out := &prefix{limit: maxDiff}
	_, err = s.reads.Run(ctx, gitcmd.Call{
		Args:   append([]string{"diff-tree", "--root", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--no-commit-id", "--diff-merges=first-parent"}, commits...),
		GitDir: s.dir(repo), Settings: settings, Stdout: out,
	})
	return strings.ToValidUTF8(out.kept.String(), "\uFFFD"), out.cut, err
}

// prefix keeps the first limit bytes and drops the rest.
type prefix struct {
	kept  bytes.Buffer
	limit int
	cut   bool
}

// Write keeps what fits.
func (p *prefix) Write(b []byte) (int, error) {
	room := p.limit - p.kept.Len()
	if len(b) > room {
		p.cut = true
		p.kept.Write(b[:room])
		return len(b), nil
	}
	return p.kept.Write(b)
}

// diffFile is the change of one file.
type diffFile struct {
	Name  string
	Lines []diffLine
}

// diffLine is one line of a change; Kind is its CSS class: add, del, hunk, same.
type diffLine struct{ Kind, Text string }

// parseDiff reads a unified diff into files. Header lines beyond the names are left out.
func parseDiff(text string) []diffFile {
	var files []diffFile
	inHunk := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "diff --git ") {
			files = append(files, diffFile{Name: nameOfDiff(line)})
			inHunk = false
			continue
		}
		if len(files) == 0 {
			continue
		}
		f := &files[len(files)-1]
		inHunk = inHunk || strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "Binary files ")
		if !inHunk {
			f.Name = betterName(f.Name, line)
			continue
		}
		f.Lines = append(f.Lines, diffLine{kindOfLine(line), line})
	}
	return files
}

func kindOfLine(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return "add"
	case strings.HasPrefix(line, "-"):
		return "del"
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "\\"), strings.HasPrefix(line, "Binary files "):
		return "hunk"
	}
	return "same"
}

// nameOfDiff is the name in "diff --git a/x b/x", which is the same twice
// unless the file was renamed; the lines that follow tell it better.
func nameOfDiff(line string) string {
	both := strings.TrimPrefix(line, "diff --git ")
	if half := len(both) / 2; len(both) > 4 && len(both)%2 == 1 {
		return strings.TrimPrefix(both[half+1:], "b/")
	}
	return both
}

// betterName takes the name from the header lines that hold it alone.
func betterName(name, line string) string {
	for _, p := range []string{"+++ b/", "--- a/", "rename to "} {
		if rest, ok := strings.CutPrefix(line, p); ok {
			return rest
		}
	}
	return name
}
