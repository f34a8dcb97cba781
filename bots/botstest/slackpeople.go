package botstest

// App installs an app whose bot has the name.
func (s *Slack) App(name string) SlackApp {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.account(name, slackTeam, true)
	a := &slackApp{id: s.id("A"), bot: s.id("B"), name: name, SlackApp: SlackApp{User: u.id, BotToken: "xoxb-" + u.id, AppToken: "xapp-" + u.id}}
	s.apps = append(s.apps, a)
	return a.SlackApp
}

// Person makes a person of the workspace.
func (s *Slack) Person(name string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.account(name, slackTeam, false)
	s.tellAccount("team_join", u)
	return u.id
}

// Unannounced makes a person of the workspace of whom no app is told.
func (s *Slack) Unannounced(name string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account(name, slackTeam, false).id
}

// Rename changes a person's name.
func (s *Slack) Rename(user, name string) {
	s.RenameUnseen(user, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tellAccount("user_change", s.users[user])
}

// RenameUnseen changes a person's name, of which no app is told.
func (s *Slack) RenameUnseen(user, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[user].name = name
}

// Deactivate switches a person's account off.
func (s *Slack) Deactivate(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[user].deleted = true
	s.tellAccount("user_change", s.users[user])
}

// Stranger makes a person of another workspace, who may be in a channel that both share.
func (s *Slack) Stranger(name string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account(name, slackTeam2, false).id
}

// Channel makes a public channel with members, people and apps alike.
func (s *Slack) Channel(name string, members ...string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversation("channel", name, members...).id
}

// Join makes people and apps members of a channel.
func (s *Slack) Join(channel string, members ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.channels[channel]
	for _, m := range members {
		if in.members[m] {
			continue
		}
		in.members[m] = true
		s.tellJoined(in, m)
	}
}

// Archive archives a channel.
func (s *Slack) Archive(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[channel].archived = true
}

// tellAccount tells every app that listens about an account; the lock is held.
func (s *Slack) tellAccount(what string, u *slackUser) {
	for _, app := range s.apps {
		if len(app.streams) > 0 {
			s.send(app, answer{"type": what, "user": u.json(), "cache_ts": s.cfg.Now().Unix()})
		}
	}
}

// tellJoined tells the apps of a channel that listen about a new member; the lock is held.
func (s *Slack) tellJoined(in *slackChannel, member string) {
	for _, app := range s.apps {
		if in.members[app.User] && len(app.streams) > 0 {
			s.send(app, answer{"type": "member_joined_channel", "user": member, "channel": in.id, "channel_type": "C", "team": slackTeam})
		}
	}
}
