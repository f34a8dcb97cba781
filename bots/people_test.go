package bots_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
)

func TestGrantsAllowWhatTheyNameAndNothingElse(t *testing.T) {
	g := bots.Grants{"admins": {"*"}, "developers": {"component:promote", "project:*"}, "sres": {"comp*"}}
	for _, c := range []struct {
		name, action string
		groups       []string
		allowed      bool
	}{
		{"everything for admins", "component:promote", []string{"admins"}, true},
		{"one action", "component:promote", []string{"developers"}, true},
		{"another action", "component:lock", []string{"developers"}, false},
		{"every action of a kind", "project:create", []string{"developers"}, true},
		{"a kind is more than a prefix", "projectile:create", []string{"developers"}, false},
		{"a star within a word grants nothing", "component:promote", []string{"sres"}, false},
		{"any of several groups", "component:promote", []string{"sres", "developers"}, true},
		{"a group that is not listed", "component:promote", []string{"guests"}, false},
		{"no group", "component:promote", nil, false},
		{"no action", "", []string{"admins"}, false},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.allowed, g.Allowed(c.groups, c.action)) })
	}
	assert.Equal(t, []string{"admins", "developers"}, g.Holders("component:promote"))
	assert.Empty(t, bots.Grants{}.Holders("component:promote"))
}

func TestGrantsFilesAreReadStrictly(t *testing.T) {
	g, err := bots.DecodeGrants(strings.NewReader("grants:\n  admins: ['*']\n  sres: ['release:rollback']\n"))
	require.NoError(t, err)
	assert.Equal(t, bots.Grants{"admins": {"*"}, "sres": {"release:rollback"}}, g)
	for _, c := range []struct{ name, file, says string }{
		{"an unknown field", `{"grant": {}}`, "grant"},
		{"a group without actions", `{"grants": {"sres": []}}`, `group "sres": no actions`},
		{"an empty action", `{"grants": {"sres": [""]}}`, `group "sres": action ""`},
		{"a star in the middle", `{"grants": {"sres": ["a*b"]}}`, `action "a*b"`},
		{"two documents", "grants: {}\n---\ngrants: {}\n", "more than one document"},
		{"no YAML", "grants: [", "grants"},
		{"too much", strings.Repeat("#", 1<<20+1), "larger than 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := bots.DecodeGrants(strings.NewReader(c.file))
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestPeopleFilesAreReadStrictly(t *testing.T) {
	p, err := bots.DecodePeople(strings.NewReader(`{"people": [{"chat": "zulip:10", "persona": "developer", "name": "Dev Developer", "groups": ["developers"]}]}`))
	require.NoError(t, err)
	got, known := p.Person(t.Context(), "zulip:10")
	require.True(t, known)
	assert.Equal(t, "developer", got.Persona)
	assert.Equal(t, "10", got.UserID)
	assert.Equal(t, []string{"developers"}, got.Groups)
	_, known = p.Person(t.Context(), "slack:10")
	assert.False(t, known, "the same number in another chat is somebody else")
	for _, c := range []struct{ name, file, says string }{
		{"an unknown field", `{"people": [{"chat": "zulip:1", "persona": "x", "admin": true}]}`, "admin"},
		{"no transport", `{"people": [{"chat": "10", "persona": "x"}]}`, `entry 1: chat "10"`},
		{"no persona", `{"people": [{"chat": "zulip:1"}]}`, "persona is missing"},
		{"listed twice", `{"people": [{"chat": "zulip:1", "persona": "x"}, {"chat": "zulip:1", "persona": "y"}]}`, `entry 2: chat "zulip:1" is x already`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := bots.DecodePeople(strings.NewReader(c.file))
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestPeopleAreFoundByPersonaOrNameWhenOnlyOneHasIt(t *testing.T) {
	people, err := bots.NewPeople(
		bots.Entry{Chat: "zulip:10", Persona: "developer", Name: "Dev Developer"},
		bots.Entry{Chat: "zulip:11", Persona: "sre", Name: "Sam"},
		bots.Entry{Chat: "zulip:12", Persona: "admin", Name: "Sam"},
	)
	require.NoError(t, err)
	for name, want := range map[string]string{"developer": "10", "Dev Developer": "10", "sre": "11", "Sam": "", "nobody": "", "": ""} {
		person, known := people.Named(name)
		assert.Equal(t, want, person.UserID, name)
		assert.Equal(t, want != "", known, name)
	}
}

func TestThePeopleOfOneChat(t *testing.T) {
	people, err := bots.NewPeople(
		bots.Entry{Chat: "zulip:10", Persona: "developer"}, bots.Entry{Chat: "slack:U012AB3CD", Persona: "developer"}, bots.Entry{Chat: "slack:U011AB3CD", Persona: "sre"},
	)
	require.NoError(t, err)
	_, known := people.Named("developer")
	assert.False(t, known, "of two accounts neither is meant")
	inSlack := people.In("slack")
	person, known := inSlack.Named("developer")
	assert.True(t, known)
	assert.Equal(t, "U012AB3CD", person.UserID)
	assert.Equal(t, []string{"U011AB3CD", "U012AB3CD"}, inSlack.UserIDs())
	_, known = inSlack.Person(t.Context(), "zulip:10")
	assert.False(t, known)
}

func TestAPersonaHasTheGroupsThatAllItsAccountsHave(t *testing.T) {
	p, err := bots.NewPeople(
		bots.Entry{Chat: "zulip:10", Persona: "developer", Name: "Dev Developer", Groups: []string{"developers", "sres"}},
		bots.Entry{Chat: "slack:U1", Persona: "developer", Name: "dev", Groups: []string{"developers"}},
		bots.Entry{Chat: "zulip:11", Persona: "sre", Groups: []string{"sres"}},
	)
	require.NoError(t, err)
	assert.Equal(t, []string{"developer", "sre"}, p.Personas())
	dev, known := p.Persona("developer")
	assert.True(t, known)
	assert.Equal(t, []string{"developers"}, dev.Groups)
	assert.Equal(t, "dev", dev.Name)
	one, _ := p.Person(t.Context(), "zulip:10")
	assert.Equal(t, []string{"developers", "sres"}, one.Groups, "the entries stay as they are")
	for _, nobody := range []string{"", "admin", "Dev Developer"} {
		_, known := p.Persona(nobody)
		assert.False(t, known, nobody)
	}
}
