package gitcmd

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// The modes of a file in a tree.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
)

// ImportHead describes the one commit of an Import.
type ImportHead struct {
	Ref         string // refs/heads/main; must not exist, or be From
	From        string // parent; empty for the first commit
	Name, Email string // author and committer
	At          time.Time
	Message     string // a final newline is added where there is none
}

// Import is a commit as `git fast-import` reads it: made from bytes alone, so
// that neither a work tree nor a link in it has a say in where files go.
type Import struct{ stream bytes.Buffer }

// NewImport begins a commit.
func NewImport(h ImportHead) *Import {
	i := &Import{}
	who := fmt.Sprintf("%s <%s> %d +0000", identity(h.Name), identity(h.Email), h.At.Unix())
	fmt.Fprintf(&i.stream, "commit %s\nauthor %s\ncommitter %s\n", h.Ref, who, who)
	i.data([]byte(strings.TrimRight(h.Message, "\n") + "\n"))
	if h.From != "" {
		fmt.Fprintf(&i.stream, "from %s\n", h.From)
	}
	return i
}

// identity leaves out what ends a name or an address in a commit.
func identity(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' || r == 0x7f {
			return -1
		}
		return r
	}, s))
}

// Write sets a file. The path is relative, with slashes.
func (i *Import) Write(path, mode string, content []byte) {
	fmt.Fprintf(&i.stream, "M %s inline %s\n", mode, quote(path))
	i.data(content)
}

// Delete removes a file.
func (i *Import) Delete(path string) { fmt.Fprintf(&i.stream, "D %s\n", quote(path)) }

// Reader gives the stream to the process.
func (i *Import) Reader() io.Reader {
	i.stream.WriteString("done\n")
	return &i.stream
}

func (i *Import) data(content []byte) {
	fmt.Fprintf(&i.stream, "data %d\n", len(content))
	i.stream.Write(content)
	i.stream.WriteByte('\n')
}

// quote writes a path in git's C style: every byte that is not plain as octal.
func quote(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(path) {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
