package server

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"go.yaml.in/yaml/v3"

	"platform.dev/platform/bots"
)

// openPeople reads people.yaml: who a chat account is here, and in which
// groups. The first start writes it with the seeded personas; from then on it
// is the operator's, and what they change in it holds within a second.
func (r *rooms) openPeople(p *Platform) (*bots.PeopleFile, error) {
	path := p.data.Path("people.yaml")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		var entries []bots.Entry
		for _, a := range r.accounts {
			if !a.Bot {
				entries = append(entries, bots.Entry{Chat: "zulip:" + strconv.FormatInt(a.ID, 10), Persona: a.Name, Name: a.FullName, Groups: a.Groups})
			}
		}
		text, err := yaml.Marshal(map[string]any{"people": entries})
		if err != nil {
			return nil, err
		}
		if err := WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
	}
	return bots.OpenPeople(path, p.cfg.Now, p.log.With("part", "bots"))
}
