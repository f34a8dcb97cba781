package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"platform.dev/platform/server/chat"
)

// Persona is one of the people or bots that the embedded chat starts with.
type Persona struct {
	Name     string // of the credentials file: <data>/chat/<name>.zuliprc
	FullName string
	Groups   []string
	Bot      bool
}

// personas are the interface document's four seeded personas and the two bots.
var personas = []Persona{
	{Name: "admin", FullName: "Ada Admin", Groups: []string{"admins"}},
	{Name: "platform-engineer", FullName: "Petra Platform", Groups: []string{"platform-engineers"}},
	{Name: "developer", FullName: "Dev Developer", Groups: []string{"developers"}},
	{Name: "sre", FullName: "Sam SRE", Groups: []string{"sres"}},
	{Name: "platform", FullName: "platform", Bot: true},
	{Name: "walkthrough", FullName: "walkthrough", Bot: true},
}

// The streams that exist from the first start.
const (
	StreamWalkthroughs = "walkthroughs"
	StreamSandbox      = "platform-sandbox"
)

// account is a persona with its account in the embedded chat.
type account struct {
	Persona
	ID    int64
	Email string
}

// people makes the personas' accounts and streams in the embedded chat. Their
// credentials files are written until all of them were written once: a file
// that an operator deletes later stays away, and what needs it is skipped.
func people(ctx context.Context, d *Data, server *chat.Server, site string) ([]account, error) {
	dir, err := d.Sub("chat")
	if err != nil {
		return nil, err
	}
	issued := d.Path("chat", "issued")
	_, err = os.Stat(issued)
	first := errors.Is(err, fs.ErrNotExist)
	var accounts []account
	var subscribers []int64
	for _, p := range personas {
		email := p.Name + "@platform.localhost"
		if p.Bot {
			email = p.Name + "-bot@platform.localhost"
		}
		u, err := server.EnsureUser(ctx, chat.NewUser{Email: email, FullName: p.FullName, Bot: p.Bot})
		if err != nil {
			return nil, fmt.Errorf("chat account %s: %w", p.Name, err)
		}
		accounts = append(accounts, account{Persona: p, ID: u.ID, Email: email})
		if !p.Bot {
			subscribers = append(subscribers, u.ID)
		}
		rc := fmt.Sprintf("[api]\nemail=%s\nkey=%s\nsite=%s\n", email, u.APIKey, site)
		if err := credentials(dir+"/"+p.Name+".zuliprc", rc, first); err != nil {
			return nil, err
		}
	}
	for name, what := range map[string]string{
		StreamWalkthroughs: "Walkthroughs: one topic per run, one message per step",
		StreamSandbox:      "Review environments and walkthrough projects",
	} {
		if err := server.EnsureStream(ctx, name, what, subscribers...); err != nil {
			return nil, fmt.Errorf("stream %s: %w", name, err)
		}
	}
	if first {
		return accounts, WriteFile(issued, nil, 0o600)
	}
	return accounts, nil
}

// credentials writes a credentials file, or, after the first start, brings the
// site of one that exists up to date.
func credentials(path, rc string, first bool) error {
	have, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !first, err == nil && string(have) == rc:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("credentials: %w", err)
	}
	if err := WriteFile(path, []byte(rc), 0o600); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	return nil
}

// humans are the chat user ids of people, who are subscribed to every stream that a bot makes.
func humans(accounts []account) []int64 {
	var ids []int64
	for _, a := range accounts {
		if !a.Bot {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// projectOfStream is the project whose stream it is: every stream but the two shared ones is named after its project.
func projectOfStream(stream string) (string, bool) {
	if stream == StreamWalkthroughs || stream == StreamSandbox || strings.TrimSpace(stream) == "" {
		return "", false
	}
	return stream, true
}
