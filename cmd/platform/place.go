package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"platform.dev/platform/bots/zulip"
)

// place is where in the chat: a topic of a stream, or a conversation with one
// person or bot alone.
type place struct {
	Stream, Topic string
	With          zulip.User // of a direct message; the zero User otherwise
}

// direct tells whether it is a conversation with one alone.
func (p place) direct() bool { return p.With.ID != 0 }

// String is the place as people read it.
func (p place) String() string {
	if p.direct() {
		return "direct messages with " + oneLine(p.With.FullName)
	}
	return oneLine("#" + p.Stream + " > " + p.Topic)
}

// post is a message there.
func (p place) post(content string) zulip.Post {
	if p.direct() {
		return zulip.Post{Direct: []int64{p.With.ID}, Content: content}
	}
	return zulip.Post{Stream: p.Stream, Topic: p.Topic, Content: content}
}

// narrow are the terms that find the messages there.
func (p place) narrow() []zulip.Term {
	if p.direct() {
		return []zulip.Term{{Operator: "dm", Operand: []int64{p.With.ID}}}
	}
	return []zulip.Term{{Operator: "channel", Operand: p.Stream}, {Operator: "topic", Operand: p.Topic}}
}

// whoNamed finds an account by what a person calls it: its name, its email
// address, or what stands there before the at sign, in whatever case. What several
// accounts are called is nobody, and neither is an account that is deactivated.
func whoNamed(users []zulip.User, called string) (zulip.User, error) {
	called = strings.TrimPrefix(strings.TrimSpace(called), "@")
	if called == "" {
		return zulip.User{}, errors.New("say whom to write to")
	}
	names := map[string]bool{}
	for _, is := range []func(zulip.User) string{
		func(u zulip.User) string { return u.FullName },
		func(u zulip.User) string { return u.Email },
		func(u zulip.User) string { local, _, _ := strings.Cut(u.Email, "@"); return local },
	} {
		var found []zulip.User
		for _, u := range users {
			names[oneLine(u.FullName)] = true
			if u.IsActive && strings.EqualFold(is(u), called) {
				found = append(found, u)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return zulip.User{}, fmt.Errorf("%q is %d accounts; write the email address of one", oneLine(called), len(found))
		}
	}
	known := slices.Sorted(maps.Keys(names))
	const listed = 20
	more := ""
	if len(known) > listed {
		known, more = known[:listed], " and others"
	}
	return zulip.User{}, fmt.Errorf("there is nobody called %q here; there are %s%s", oneLine(called), strings.Join(known, ", "), more)
}
