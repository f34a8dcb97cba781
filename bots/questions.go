package bots

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"platform.dev/platform/commands"
)

// Questions remembers what waits for a person's word. Implementations are
// durable: a method returns after its commit.
type Questions interface {
	// Ask records a question of a bot under an id; one that is known stays as it is.
	Ask(ctx context.Context, id, bot string, payload []byte, until time.Time) error
	// Asked visits a bot's questions that may be answered until since or later, oldest
	// first: message is the chat's id of what shows it, by who settled it, outcome how; each empty before.
	Asked(ctx context.Context, bot string, since time.Time, visit func(id string, payload []byte, message, by, outcome string) error) error
	// Shown records the chat's id of the message that shows a question; an unknown id is let be.
	Shown(ctx context.Context, id, message string) error
	// Conclude records how a question was settled, on behalf of the message by. ok tells
	// that it stands so now: false when it was settled before, by another or otherwise.
	Conclude(ctx context.Context, id, by, outcome string, at time.Time) (ok bool, err error)
}

// How a question ends, beside lapsing.
const (
	settledYes     = "confirmed"
	settledNo      = "cancelled"
	settledChanged = "changed" // what would be done is no longer what was shown
)

const (
	questionTime = 10 * time.Minute // for answering
	questionKept = time.Hour        // afterwards a word to it is told why it comes too late
	codeLength   = 6                // of 32 letters and digits each
)

// question asks whether to go on with a command.
type question struct {
	Heard  Heard         `json:"heard"` // the message that asked for it
	At     time.Time     `json:"at"`    // when that was first heard
	Turn   int           `json:"turn"`  // 1, and one more each time the plan had changed
	Plan   commands.Plan `json:"plan"`
	Code   string        `json:"code"`  // for replies: it picks this question, as it stands
	Nonce  string        `json:"nonce"` // for buttons
	Need   Need          `json:"need"`
	Person string        `json:"person"` // who asked, as the directory knows them
	Until  time.Time     `json:"until"`

	id, message, by, outcome string // as the store tells them

	now *commands.Plan // of one that ended as settledChanged: what would be done instead; nil where that is refused
}

// newQuestion asks about a plan. Code and nonce are random: with them, only who
// was shown this plan for this command can go on with it.
func newQuestion(h hearing, turn int, plan commands.Plan, need Need, person commands.Person, now time.Time) question {
	return question{
		Heard: h.Heard, At: h.at, Turn: turn, Plan: plan, Need: need, Person: person.Persona,
		Code: strings.ToLower(rand.Text()[:codeLength]), Nonce: rand.Text(),
		Until: now.Add(questionTime).UTC(), id: questionID(h.Key, turn),
	}
}

// questionMark stands in the ids of questions, which are also the outbox keys of the messages that show them.
const questionMark = "/question/"

func questionID(key string, turn int) string { return fmt.Sprintf("%s%s%d", key, questionMark, turn) }

// The values of buttons, before the nonce.
const (
	pressYes = "confirm."
	pressNo  = "cancel."
)

// The reactions that are a word, as the chats name them.
var (
	reactYes = []string{"check", "check_mark", "white_check_mark", "heavy_check_mark", "+1", "thumbs_up", "thumbsup"}
	reactNo  = []string{"cross_mark", "x", "no_entry", "-1", "thumbs_down", "thumbsdown"}
)

// answeredBy tells whether a press is a word to the question, and which.
func (q question) answeredBy(p Press) (yes, ok bool) {
	switch {
	case q.Need.Way == WayButton && p.Value != "":
		yes = same(p.Value, pressYes+q.Nonce)
		return yes, yes || same(p.Value, pressNo+q.Nonce)
	case q.Need.Way == WayReaction && p.Emoji != "" && q.shownAs(p.On):
		yes = slices.Contains(reactYes, p.Emoji)
		return yes, yes || slices.Contains(reactNo, p.Emoji)
	}
	return false, false
}

// shownAs tells whether the chat's message shows the question: it itself, or the first of its parts.
func (q question) shownAs(message string) bool {
	return message != "" && (q.message == message || strings.HasPrefix(q.message, message+","))
}

// same compares in a time that tells nothing of where two texts differ.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// questions are this bot's that may be answered until since or later, oldest first.
func (r *Runtime) questions(ctx context.Context, since time.Time) (all []question, err error) {
	if r.cfg.Questions == nil {
		return nil, nil
	}
	err = r.cfg.Questions.Asked(ctx, r.cfg.Bot, since, func(id string, payload []byte, message, by, outcome string) error {
		var q question
		if err := json.Unmarshal(payload, &q); err != nil {
			r.cfg.Log.Error("a question cannot be read and is passed over", "id", id, "error", err)
			return nil
		}
		q.id, q.message, q.by, q.outcome = id, message, by, outcome
		all = append(all, q)
		return nil
	})
	return all, err
}

// byCode finds the question that a code picks, as of when it was said; every one is compared.
func (r *Runtime) byCode(ctx context.Context, code string, at time.Time) (found question, ok bool, err error) {
	all, err := r.questions(ctx, at.Add(-questionKept))
	code = strings.ToLower(strings.TrimSpace(code))
	for _, q := range all {
		if same(q.Code, code) {
			found, ok = q, true
		}
	}
	return found, ok, err
}

// byPress finds the question that a press is a word to, as of when it was heard.
func (r *Runtime) byPress(ctx context.Context, p Press, at time.Time) (found question, yes, ok bool, err error) {
	all, err := r.questions(ctx, at.Add(-questionKept))
	for _, q := range all {
		if y, is := q.answeredBy(p); is {
			found, yes, ok = q, y, true
		}
	}
	return found, yes, ok, err
}

// byKey finds the newest question about the message with the key.
func (r *Runtime) byKey(ctx context.Context, key string, since time.Time) (found question, ok bool, err error) {
	all, err := r.questions(ctx, since)
	for _, q := range all {
		if q.Heard.Key == key && (!ok || q.Turn > found.Turn) {
			found, ok = q, true
		}
	}
	return found, ok, err
}

// record makes a question durable.
func (r *Runtime) record(ctx context.Context, q question) error {
	payload, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("question %s: %w", q.id, err)
	}
	return r.cfg.Questions.Ask(context.WithoutCancel(ctx), q.id, r.cfg.Bot, payload, q.Until)
}
