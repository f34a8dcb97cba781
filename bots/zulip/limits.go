package zulip

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
)

// Limits are what the organisation accepts. Lengths are code points.
type Limits struct {
	Message, Topic, Stream int
	// Edit is how long after posting a message may be changed; below 0 not at all, 0 for ever.
	Edit time.Duration
}

// defaultLimits are those of every Zulip server up to now: they hold for what
// an organisation does not tell.
var defaultLimits = Limits{Message: 10000, Topic: 60, Stream: 60}

// limitsRemembered is how many limits of messages are remembered for looking for what was divided by them.
const limitsRemembered = 4

// Limits asks what the organisation accepts. A server tells it along with an
// event queue alone, which is given back at once.
func (c *Client) Limits(ctx context.Context) (Limits, error) {
	q, err := c.Register(ctx, RegisterRequest{Events: []string{"realm"}, Fetch: []string{"realm"}})
	if err != nil {
		return Limits{}, err
	}
	c.free(ctx, q.ID)
	return q.Limits, nil
}

// limitsChange is what an event of type "realm" tells of limits; what it does not name stays.
type limitsChange struct {
	Message *int            `json:"max_message_length"`
	Topic   *int            `json:"max_topic_length"`
	Stream  *int            `json:"max_stream_name_length"`
	Editing *bool           `json:"allow_message_editing"`
	Seconds json.RawMessage `json:"message_content_edit_limit_seconds"` // null: for ever
}

// apply makes the limits what the change leaves them. A value that is no limit changes nothing.
func (c limitsChange) apply(l *Limits) {
	for _, one := range []struct {
		limit *int
		value *int
	}{{&l.Message, c.Message}, {&l.Topic, c.Topic}, {&l.Stream, c.Stream}} {
		if one.value != nil && *one.value > 0 {
			*one.limit = *one.value
		}
	}
	if c.Editing != nil && *c.Editing {
		l.Edit = max(l.Edit, 0) // for how long may come with it; else the server says
	}
	var seconds *int
	if len(c.Seconds) > 0 && l.Edit >= 0 && json.Unmarshal(c.Seconds, &seconds) == nil {
		l.Edit = 0
		if seconds != nil {
			l.Edit = time.Duration(max(*seconds, 0)) * time.Second
		}
	}
	if c.Editing != nil && !*c.Editing {
		l.Edit = -1
	}
}

// limitsChange reads an event of type "realm": one property, or several at once.
func (e Event) limitsChange() (limitsChange, error) {
	data := e.Data
	if e.Op == "update" {
		var err error
		if data, err = json.Marshal(map[string]json.RawMessage{e.Property: e.Value}); err != nil {
			return limitsChange{}, err
		}
	}
	var c limitsChange
	if len(data) == 0 {
		return c, nil
	}
	return c, json.Unmarshal(data, &c)
}

// realm keeps the limits current. An event that cannot be read changes nothing:
// the next registration tells everything.
func (t *Transport) realm(e Event) {
	change, err := e.limitsChange()
	if err != nil {
		t.cfg.Log.Warn("a change of the organisation is not understood", "event", e.ID, "error", err)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	limits := t.limits
	change.apply(&limits)
	t.obey(limits)
}

// obey takes limits over, the caller holding the lock. Those of messages before
// are remembered: what an earlier attempt posted was divided by them.
func (t *Transport) obey(l Limits) {
	t.limits, t.told = l, true
	t.dividedBy = slices.DeleteFunc(t.dividedBy, func(n int) bool { return n == l.Message })
	t.dividedBy = slices.Insert(t.dividedBy, 0, l.Message)
	t.dividedBy = t.dividedBy[:min(len(t.dividedBy), limitsRemembered)]
}

// ready returns once the organisation's limits are known: nothing is posted,
// looked for or edited by limits that are only believed. Until the server has
// told them, a message waits, as it does while the server cannot be reached.
func (t *Transport) ready(ctx context.Context) error {
	if t.knowsLimits() {
		return nil
	}
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-ctx.Done():
		return &bots.RetryError{Err: ctx.Err()}
	}
	if t.knowsLimits() { // somebody else has asked meanwhile
		return nil
	}
	limits, err := t.client.Limits(ctx)
	if err != nil {
		after := retryAfter(err)
		var e *Error
		if errors.As(err, &e) && e.Fatal() {
			after = fatalPause
		}
		return &bots.RetryError{After: after, Err: fmt.Errorf("ask for the organisation's limits: %w", err)}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.told { // else the queue that is listened to has told, and tells of changes
		t.obey(limits)
	}
	return nil
}

// knowsLimits tells whether the organisation has told its limits.
func (t *Transport) knowsLimits() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.told
}

// divisions are the ways in which a message is or was divided, each once: by
// the limit that holds, then by those before, then by Zulip's own, which a
// process that knew no other went by.
func (t *Transport) divisions(m markup.Message) (ways [][]string) {
	t.mu.Lock()
	limits := append([]int{t.limits.Message}, t.dividedBy...)
	t.mu.Unlock()
	tried := map[int]bool{}
	for _, limit := range append(limits, markup.ZulipLimit) {
		limit = min(limit, markup.ZulipLimit)
		if tried[limit] {
			continue
		}
		tried[limit] = true
		way := markup.ZulipWithin(m, limit)
		if !slices.ContainsFunc(ways, func(other []string) bool { return slices.Equal(other, way) }) {
			ways = append(ways, way)
		}
	}
	return ways
}
