package botstest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Recording is a conversation with a bot as documents: what was asked, and what
// the bot said to it. Replayed over a chat it says the same again, so that what
// chats show of it can be compared.
type Recording struct {
	Bot   string `json:"bot"`
	Turns []Turn `json:"turns"`
}

// Turn is one question with all that was said to it.
type Turn struct {
	Place  commands.Place `json:"place"`            // where it was asked
	Direct bool           `json:"direct,omitempty"` // it was asked in a conversation with the bot alone; Place is then empty
	Text   string         `json:"text"`             // each text is asked once
	Says   []Saying       `json:"says"`
}

// Saying is one thing said: the answer, its progress before that, or something elsewhere.
type Saying struct {
	Progress bool            `json:"progress,omitempty"`
	Key      string          `json:"key,omitempty"` // of what is said elsewhere, in To
	To       *commands.Place `json:"to,omitempty"`
	Message  markup.Message  `json:"message"`
}

// ReadRecording reads a recording from a file of JSON.
func ReadRecording(path string) (Recording, error) {
	var r Recording
	text, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Parse finds the turn that a text asks for; a Recording is a bots.Commands.
func (r Recording) Parse(bot, text string) (commands.Call, error) {
	for _, t := range r.Turns {
		if t.Text == text && bot == r.Bot {
			verb := commands.Command{Bot: bot, Verb: "replay", Effect: commands.Read, Run: t.say}
			return commands.Call{Command: verb, Verb: verb.Verb, Text: text}, nil
		}
	}
	return commands.Call{}, fmt.Errorf("nobody asked %s %q", bot, text)
}

// say says what was said.
func (t Turn) say(ctx context.Context, _ commands.Request, reply commands.Reply) error {
	for _, s := range t.Says {
		var err error
		switch {
		case s.To != nil:
			err = reply.Post(ctx, s.Key, *s.To, s.Message)
		case s.Progress:
			err = reply.Progress(ctx, s.Message)
		default:
			err = reply.Answer(ctx, s.Message)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Said is what stands in the end in each place, in order; in a conversation with
// the bot alone under the empty place. What was only progress has become the answer.
func (r Recording) Said() map[commands.Place][]markup.Message {
	said := map[commands.Place][]markup.Message{}
	for _, t := range r.Turns {
		answer := -1 // where this turn's answer stands in its place
		keys := map[string]int{}
		for _, s := range t.Says {
			place, at := t.Place, answer
			if s.To != nil {
				var known bool
				if place = *s.To; s.Key != "" {
					if at, known = keys[s.Key]; !known {
						at = -1
					}
				}
			}
			if at >= 0 {
				said[place][at] = s.Message
				continue
			}
			said[place] = append(said[place], s.Message)
			if at = len(said[place]) - 1; s.To != nil {
				keys[s.Key] = at
			} else {
				answer = at
			}
		}
	}
	return said
}
