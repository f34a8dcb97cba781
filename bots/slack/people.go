package slack

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/slack-go/slack"
)

const (
	// personFresh is for how long an account is believed without a look. Events tell
	// of changes; the look is for those that were missed, and takes place beside.
	personFresh = time.Hour
	// personStale is when an account is looked at before anything is heard from it.
	personStale = 24 * time.Hour
	// asking is how many accounts and conversations are looked up at once.
	asking = 8
)

// person is an account, as far as it matters.
type person struct {
	name   string
	heard  bool // a person of the bot's own workspace
	asked  time.Time
	asking bool // it is being looked up beside
}

// member is what is read of an account.
type member struct {
	ID       string `json:"id"`
	Team     string `json:"team_id"`
	Name     string `json:"name"`
	RealName string `json:"real_name"`
	Deleted  bool   `json:"deleted"`
	Bot      bool   `json:"is_bot"`
	Stranger bool   `json:"is_stranger"`
	Profile  struct {
		RealName    string `json:"real_name"`
		DisplayName string `json:"display_name"`
	} `json:"profile"`
	Enterprise struct {
		ID string `json:"enterprise_id"`
	} `json:"enterprise_user"`
}

// codesNobody are Slack's answers about an account that is none, or none of this workspace's.
var codesNobody = []string{"user_not_found", "user_not_visible", "users_not_found"}

// person is an account, looked up where it is not known. Bots, people of other workspaces
// and accounts that were switched off are not heard; nor is one of which Slack knows nothing.
func (l *listener) person(ctx context.Context, id string) (person, error) {
	if !accounts.MatchString(id) {
		return person{}, nil
	}
	p, age := l.known(id)
	switch {
	case age < personFresh:
		return p, nil
	case age < personStale:
		if l.claim(id) {
			l.group.Go(func() {
				if _, err := l.lookUp(ctx, id); err != nil {
					l.unclaim(id)
					l.cfg.Log.Info("an account could not be looked at again", "user", id, "why", err)
				}
			})
		}
		return p, nil
	}
	return l.lookUp(ctx, id)
}

// known is what is remembered of an account, and how long ago that was learnt.
func (t *Transport) known(id string) (person, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, known := t.people.Get(id)
	if !known {
		return person{}, personStale
	}
	return p, t.cfg.Now().Sub(p.asked)
}

// claim tells whether nobody else is looking an account up beside.
func (t *Transport) claim(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, known := t.people.Get(id)
	if !known || p.asking {
		return false
	}
	p.asking = true
	t.people.Put(id, p)
	return true
}

// unclaim lets somebody else look an account up.
func (t *Transport) unclaim(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, known := t.people.Get(id); known {
		p.asking = false
		t.people.Put(id, p)
	}
}

// lookUp asks Slack who an account is.
func (l *listener) lookUp(ctx context.Context, id string) (p person, err error) {
	var info struct {
		result
		User member `json:"user"`
	}
	err = l.ask(ctx, func() error {
		if known, age := l.known(id); age < personFresh { // somebody else asked meanwhile
			p = known
			return nil
		}
		asked := l.cfg.Now()
		err := l.call(ctx, "users.info", url.Values{"user": {id}}, &info)
		if err != nil && !is(err, codesNobody...) {
			return err
		}
		info.User.ID = id
		p = l.met(l.me, info.User, asked)
		return nil
	})
	return p, err
}

// ask looks something up when its turn has come.
func (t *Transport) ask(ctx context.Context, question func() error) error {
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
		return question()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// met remembers an account as it was at an instant, unless it is known as it was
// later: an event may overtake the answer to a call.
func (t *Transport) met(me self, m member, at time.Time) person {
	if !accounts.MatchString(m.ID) {
		return person{}
	}
	p := person{
		name:  cmp.Or(m.Profile.DisplayName, m.RealName, m.Profile.RealName, m.Name),
		heard: !m.Bot && !m.Deleted && !m.Stranger && (me.at(m.Team) || me.at(m.Enterprise.ID)),
		asked: at,
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.people.Get(m.ID); ok && known.asked.After(at) {
		return known
	}
	t.people.Put(m.ID, p)
	return p
}

// nameOf is the name of an account that is known, else its id.
func (t *Transport) nameOf(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id == t.self.user {
		return cmp.Or(t.self.name, id)
	}
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
