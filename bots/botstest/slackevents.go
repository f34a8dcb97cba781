package botstest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// slackAckWait is how long Slack waits for an event to be acknowledged.
const slackAckWait = 3 * time.Second

// slackAcksKept is how many acknowledgements are remembered.
const slackAcksKept = 1 << 20

// slackEvent is something that an app is to be told, until it says that it knows.
type slackEvent struct {
	app     *slackApp
	id      string // the event's, the same each time it is sent
	kind    string // of the envelope: "events_api", "interactive"
	payload json.RawMessage
	sent    int // how often
	known   bool
	timer   *time.Timer
	queued  bool      // among those that wait for a stream
	at      time.Time // of its last sending
}

func (e *slackEvent) stop() {
	if e.timer != nil {
		e.timer.Stop()
	}
}

// Say posts a person's message to a channel, in the thread with the root or outside of threads (""), and returns its timestamp.
func (s *Slack) Say(user, channel, thread, text string) (ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &slackMessage{user: user, thread: thread, text: text}
	s.add(s.channels[channel], m)
	return m.ts
}

// Post posts a message that an app of somebody else's wrote, such as an integration.
func (s *Slack) Post(channel, text string) (ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &slackMessage{user: "", bot: "B0SOMEONE", text: text}
	s.add(s.channels[channel], m)
	return m.ts
}

// Edit changes what a person wrote; apps are told as Slack tells them.
func (s *Slack) Edit(channel, ts, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.channels[channel]
	m := in.message(ts)
	before := m.json(false)
	m.text, m.edits = text, m.edits+1
	s.change()
	for _, app := range s.apps {
		if !in.members[app.User] {
			continue
		}
		s.send(app, answer{
			"type": "message", "subtype": "message_changed", "hidden": true, "channel": in.id, "channel_type": in.kind,
			"ts": s.stamp(), "event_ts": s.stamp(), "message": m.json(false), "previous_message": before,
		})
		if strings.Contains(text, "<@"+app.User+">") {
			mention := s.written(in, m)
			mention["type"], mention["edited"] = "app_mention", answer{"user": m.user, "ts": s.stamp()}
			delete(mention, "channel_type")
			s.send(app, mention)
		}
	}
}

// React puts a person's reaction on a message.
func (s *Slack) React(user, channel, ts, emoji string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.channels[channel]
	s.react(in, in.message(ts), user, emoji)
}

// Press presses the button with the value on a message, as the person. A button that is not there cannot be pressed.
func (s *Slack) Press(t testing.TB, user, channel, ts, value string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.channels[channel]
	m := in.message(ts)
	if _, buttons := shownBlocks(m.blocks); !slices.Contains(buttons, value) {
		t.Fatalf("message %s has no button %q, but %q", ts, value, buttons)
	}
	who := s.users[user]
	container := answer{"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": false}
	if m.thread != "" {
		container["thread_ts"] = m.thread
	}
	action := answer{
		"type": "button", "block_id": "b1", "action_id": "a1", "value": value, "action_ts": s.stamp(), "text": answer{"type": "plain_text", "text": value, "emoji": true},
	}
	for _, app := range s.apps {
		if app.User != m.user {
			continue
		}
		payload := slackJSON(answer{
			"type": "block_actions", "user": answer{"id": user, "username": who.name, "name": who.name, "team_id": who.team},
			"api_app_id": app.id, "token": "verification", "container": container, "trigger_id": "1.2.3", "team": answer{"id": slackTeam, "domain": "shop"},
			"enterprise": nil, "is_enterprise_install": false, "channel": answer{"id": channel, "name": in.name}, "message": m.json(false),
			"state": answer{"values": answer{}}, "response_url": "http://slack.test/response", "actions": []answer{action},
		})
		// Slack does not repeat a press: whoever pressed sees that it failed.
		s.dispatch(&slackEvent{app: app, id: s.id("Ix"), kind: "interactive", payload: payload})
	}
}

// Tell sends an app an event of any shape; inner is its "event".
func (s *Slack) Tell(app SlackApp, inner map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.apps {
		if a.SlackApp == app {
			s.send(a, inner)
		}
	}
}

// Unacknowledged are the events, by id, that Slack has given up.
func (s *Slack) Unacknowledged() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.given...)
}

// Acked is how long each sending took to be acknowledged, in the order of the
// acknowledgements, a million at most; it begins anew with each call.
func (s *Slack) Acked() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	acked := s.acked
	s.acked = nil
	return acked
}

// Waiting is how many events were not acknowledged yet.
func (s *Slack) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.envelopes) + len(s.unsent)
}

// tell tells the apps of a conversation about a new message: each member, and who is mentioned once more.
func (s *Slack) tell(in *slackChannel, m *slackMessage) {
	for _, app := range s.apps {
		if !in.members[app.User] {
			continue
		}
		if in.kind == "channel" && strings.Contains(m.text, "<@"+app.User+">") && m.user != app.User {
			mention := s.written(in, m)
			mention["type"] = "app_mention"
			delete(mention, "channel_type")
			s.send(app, mention)
		}
		s.send(app, s.written(in, m))
	}
}

// written is the event of a new message.
func (s *Slack) written(in *slackChannel, m *slackMessage) answer {
	a := m.json(false)
	delete(a, "reactions")
	a["channel"], a["channel_type"], a["event_ts"] = in.id, in.kind, m.ts
	if u := s.users[m.user]; u != nil && u.team != slackTeam {
		a["user_team"], a["source_team"], a["team"] = u.team, u.team, u.team
	}
	if m.bot != "" && m.user == "" {
		a["subtype"] = "bot_message"
	}
	return a
}

// tellReaction tells the apps of a conversation about a reaction.
func (s *Slack) tellReaction(in *slackChannel, m *slackMessage, user, name string) {
	for _, app := range s.apps {
		if in.members[app.User] {
			s.send(app, answer{
				"type": "reaction_added", "user": user, "reaction": name, "item_user": m.user, "event_ts": s.stamp(),
				"item": answer{"type": "message", "channel": in.id, "ts": m.ts},
			})
		}
	}
}

// send sends an app an event; the lock is held.
func (s *Slack) send(app *slackApp, inner map[string]any) {
	e := &slackEvent{app: app, id: s.id("Ev"), kind: "events_api"}
	e.payload = slackJSON(answer{
		"token": "verification", "team_id": slackTeam, "context_team_id": slackTeam, "api_app_id": app.id, "type": "event_callback",
		"event_id": e.id, "event_time": s.cfg.Now().Unix(), "event": inner, "is_ext_shared_channel": false,
		"authorizations": []answer{{"team_id": slackTeam, "user_id": app.User, "is_bot": true}},
	})
	s.dispatch(e)
	if s.twice {
		again := *e
		s.dispatch(&again)
	}
}

// dispatch sends an event over the app's next stream, and again while it is not
// acknowledged; the lock is held.
func (s *Slack) dispatch(e *slackEvent) {
	if s.closed || e.known {
		return
	}
	stream := e.app.next()
	if stream == nil {
		if e.kind == "interactive" {
			return // whoever pressed sees at once that it failed
		}
		if !e.queued {
			e.queued = true
			s.unsent = append(s.unsent, e)
		}
		s.again(e)
		return
	}
	id := s.id("Env")
	frame := answer{"type": e.kind, "envelope_id": id, "payload": e.payload, "accepts_response_payload": e.kind == "interactive"}
	if e.kind == "events_api" {
		frame["retry_attempt"], frame["retry_reason"] = e.sent, ""
		if e.sent > 0 {
			frame["retry_reason"] = "timeout"
		}
	}
	e.sent++
	e.unqueue(s)
	e.at = time.Now()
	s.envelopes[id] = e
	stream.sent[id] = e
	e.stop()
	e.timer = time.AfterFunc(slackAckWait, func() { s.expired(id) })
	stream.write(slackJSON(frame))
}

// unqueue takes an event off those that wait for a stream; the lock is held.
func (e *slackEvent) unqueue(s *Slack) {
	if !e.queued {
		return
	}
	e.queued = false
	for i, other := range s.unsent {
		if other == e {
			s.unsent = append(s.unsent[:i], s.unsent[i+1:]...)
			return
		}
	}
}

// expired takes notice that a sending was not acknowledged in time.
func (s *Slack) expired(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.envelopes[id]; e != nil {
		s.unanswered(id, e)
	}
}

// unanswered gives a sending up; the lock is held.
func (s *Slack) unanswered(id string, e *slackEvent) {
	delete(s.envelopes, id)
	if s.cfg.Eager && e.app.next() == nil && !e.queued && !e.known {
		e.queued = true
		s.unsent = append(s.unsent, e)
	}
	s.again(e)
}

// again sends an event once more when its next retry falls due; the lock is held.
func (s *Slack) again(e *slackEvent) {
	e.stop()
	retry := max(e.sent-1, 0)
	if e.known || s.closed || e.kind == "interactive" {
		return
	}
	if retry >= len(s.cfg.Retries) {
		e.unqueue(s)
		s.given = append(s.given, e.id)
		return
	}
	after := s.cfg.Retries[retry]
	if e.sent == 0 { // no stream was open, which counts as a sending
		e.sent++
	}
	e.timer = time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if e.app.next() == nil {
			e.sent++
		}
		s.dispatch(e)
	})
}

// acknowledged takes notice that the app knows; the lock is held.
func (s *Slack) acknowledged(id string) {
	e := s.envelopes[id]
	if e == nil {
		if !strings.HasPrefix(id, "Env") {
			s.strays = append(s.strays, id)
		}
		return
	}
	delete(s.envelopes, id)
	if len(s.acked) < slackAcksKept {
		s.acked = append(s.acked, time.Since(e.at))
	}
	e.known = true
	e.stop()
	e.unqueue(s)
	s.change()
}

// slackJSON encodes what is known to encode.
func slackJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
