package bots

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"platform.dev/platform/commands"
)

// Entry is a person as a file lists them.
type Entry struct {
	Chat    string   `json:"chat" yaml:"chat"`       // transport and user id, "zulip:10"
	Persona string   `json:"persona" yaml:"persona"` // who they are here, "developer"
	Name    string   `json:"name" yaml:"name"`
	Groups  []string `json:"groups" yaml:"groups"`
}

// People is a Directory as a list: only who is in it is known.
type People struct{ byChat map[string]commands.Person }

// NewPeople makes a directory. Chat ids without a transport, empty personas and
// ids listed twice are refused, by entry.
func NewPeople(entries ...Entry) (*People, error) {
	p := &People{byChat: make(map[string]commands.Person, len(entries))}
	for i, e := range entries {
		transport, user, ok := strings.Cut(e.Chat, ":")
		switch {
		case !ok || transport == "" || user == "":
			return nil, fmt.Errorf("people: entry %d: chat %q: write transport and user id, such as zulip:10", i+1, e.Chat)
		case e.Persona == "":
			return nil, fmt.Errorf("people: entry %d: chat %q: persona is missing", i+1, e.Chat)
		}
		if other, twice := p.byChat[e.Chat]; twice {
			return nil, fmt.Errorf("people: entry %d: chat %q is %s already", i+1, e.Chat, other.Persona)
		}
		p.byChat[e.Chat] = commands.Person{ChatID: e.Chat, UserID: user, Name: e.Name, Persona: e.Persona, Groups: e.Groups}
	}
	return p, nil
}

// DecodePeople reads a directory from YAML or JSON,
// `people: [{chat: "zulip:10", persona: developer, name: Dev Developer, groups: [developers]}]`; unknown fields are refused, by name.
func DecodePeople(r io.Reader) (*People, error) {
	var file struct {
		People []Entry `yaml:"people"`
	}
	if err := decode(r, &file); err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	return NewPeople(file.People...)
}

// Person looks a chat's user id up.
func (p *People) Person(_ context.Context, chatID string) (commands.Person, bool) {
	person, ok := p.byChat[chatID]
	return person, ok
}

// In is the part of the directory that is of one transport, "slack".
func (p *People) In(transport string) *People {
	part := &People{byChat: map[string]commands.Person{}}
	for chat, person := range p.byChat {
		if strings.HasPrefix(chat, transport+":") {
			part.byChat[chat] = person
		}
	}
	return part
}

// UserIDs are the chat's user ids of everybody, sorted.
func (p *People) UserIDs() []string {
	ids := make([]string, 0, len(p.byChat))
	for _, person := range p.byChat {
		ids = append(ids, person.UserID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Named looks a person up by persona or by name, as a commit's author is written;
// a name that several have is nobody's.
func (p *People) Named(name string) (commands.Person, bool) {
	var found commands.Person
	for _, person := range p.byChat {
		if name == "" || (person.Persona != name && person.Name != name) {
			continue
		}
		if found.ChatID != "" {
			return commands.Person{}, false
		}
		found = person
	}
	return found, found.ChatID != ""
}

// Persona is somebody by who they are here, whatever the chat they write in. Of
// groups they have those that all of their entries have; of the name, that of the
// first chat in alphabetical order.
func (p *People) Persona(persona string) (commands.Person, bool) {
	var found commands.Person
	for _, chat := range slices.Sorted(maps.Keys(p.byChat)) {
		switch person := p.byChat[chat]; {
		case persona == "" || person.Persona != persona:
		case found.Persona == "":
			found = person
			found.Groups = slices.Clone(person.Groups)
		default:
			found.Groups = slices.DeleteFunc(found.Groups, func(g string) bool { return !slices.Contains(person.Groups, g) })
		}
	}
	return found, found.Persona != ""
}

// Personas are who is in the directory, sorted.
func (p *People) Personas() []string {
	var all []string
	for _, person := range p.byChat {
		all = append(all, person.Persona)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// fileLimit bounds a file of people or grants.
const fileLimit = 1 << 20

// decode reads one strict YAML document; JSON is YAML too.
func decode(r io.Reader, into any) error {
	text, err := io.ReadAll(io.LimitReader(r, fileLimit+1))
	if err != nil {
		return err
	}
	if len(text) > fileLimit {
		return fmt.Errorf("larger than %d bytes", fileLimit)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var rest any
	if err := d.Decode(&rest); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	return nil
}
