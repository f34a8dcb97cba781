package botstest

import (
	"encoding/json"
	"slices"
)

// Freeze has the network swallow, without a word, whatever is sent over the streams
// that are open, in both directions.
func (s *Slack) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.streams {
		c.freeze.Do(func() { close(c.frozen) })
	}
}

// Frame sends a frame of any text over one of an app's streams.
func (s *Slack) Frame(app SlackApp, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.apps {
		if stream := a.next(); a.SlackApp == app && stream != nil {
			stream.write(json.RawMessage(text))
		}
	}
}

// Refuse has the next streams refused with an HTTP status.
func (s *Slack) Refuse(streams, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = append(s.refuse, slices.Repeat([]int{status}, streams)...)
}

// Strays are the acknowledgements of what Frame sent, in the order of the alphabet.
func (s *Slack) Strays() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.strays))
}

// Fewest is the least number of streams that were open at a time since AwaitStreams last returned.
func (s *Slack) Fewest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fewest
}

// Disconnect asks the apps to open their streams anew, as Slack does every few hours, and ends them.
func (s *Slack) Disconnect() { s.disconnect("refresh_requested") }

// Warn asks the apps to open their streams anew, as Slack does shortly before it ends them.
func (s *Slack) Warn() { s.disconnect("warning") }

// Unlink ends the streams as Slack does when Socket Mode is switched off for an app.
func (s *Slack) Unlink() { s.disconnect("link_disabled") }

func (s *Slack) disconnect(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.streams {
		c.write(slackDisconnect(reason))
	}
}

// slackDisconnect is the frame that asks an app to open another stream.
func slackDisconnect(reason string) json.RawMessage {
	return slackJSON(answer{"type": "disconnect", "reason": reason, "debug_info": answer{"host": "applink-0"}})
}

// Cut ends every stream without a word.
func (s *Slack) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.streams {
		c.close()
	}
}
