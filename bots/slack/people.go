package slack

import (
	"cmp"
	"context"
	"time"

	"github.com/slack-go/slack"
)

// personKept is for how long an account's name, and what it is, are believed.
const personKept = time.Hour

// person is an account, as far as it matters.
type person struct {
	name  string
	heard bool // a person of the bot's own workspace
	asked time.Time
}

// codesNobody are Slack's answers about an account that is none, or none of this workspace's.
var codesNobody = []string{"user_not_found", "user_not_visible", "users_not_found"}

// person looks an account up. Bots, people of other workspaces and accounts that were
// switched off are not heard; nor is one of which Slack knows nothing.
func (t *Transport) person(ctx context.Context, id string) (person, error) {
	t.mu.Lock()
	p, known := t.people.Get(id)
	me := t.self
	t.mu.Unlock()
	now := t.cfg.Now()
	if known && now.Sub(p.asked) < personKept {
		return p, nil
	}
	if !accounts.MatchString(id) {
		return person{}, nil
	}
	u, err := t.api.GetUserInfoContext(ctx, id)
	if err != nil && !is(err, codesNobody...) {
		return person{}, err
	}
	p = person{asked: now}
	if err == nil {
		p.name = cmp.Or(u.Profile.DisplayName, u.RealName, u.Profile.RealName, u.Name)
		p.heard = !u.IsBot && !u.Deleted && !u.IsStranger && (me.at(u.TeamID) || me.at(u.Enterprise.EnterpriseID))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.people.Put(id, p)
	return p, nil
}

// nameOf is the name of an account that was looked up before, else its id.
func (t *Transport) nameOf(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, _ := t.people.Get(id)
	return cmp.Or(p.name, id)
}

// conversation is the direct conversation with people: user ids, or the id of the
// conversation itself where more than two talk.
func (t *Transport) conversation(ctx context.Context, people string) (string, error) {
	t.mu.Lock()
	id, known := t.directs.Get(people)
	t.mu.Unlock()
	switch {
	case known:
		return id, nil
	case conversing.MatchString(people):
		return people, nil
	}
	users, err := splitPeople(people)
	if err != nil {
		return "", err
	}
	c, _, _, err := t.api.OpenConversationContext(ctx, &slack.OpenConversationParameters{Users: users})
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.directs.Put(people, c.ID)
	return c.ID, nil
}
