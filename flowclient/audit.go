package flowclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// How many entries a page of the audit trail has.
const (
	DefaultAudit = 100
	MaxAudit     = 500
)

// AuditQuery asks for a page of the audit trail. Empty fields narrow nothing.
type AuditQuery struct {
	Project   string `json:"project,omitempty"`
	Component string `json:"component,omitempty"`
	Who       string `json:"who,omitempty"`    // exactly as recorded; Automatic is the automatic pass
	Kind      string `json:"kind,omitempty"`   // one of AuditKinds
	Limit     int    `json:"limit,omitempty"`  // 1 to MaxAudit; 0 is DefaultAudit
	Cursor    string `json:"cursor,omitempty"` // the Next of the page before
}

// AuditPage is a part of the audit trail, newest first. The trail is the
// journal itself with what bots decided, both of which are only ever added to:
// an entry never changes once its decision has ended, and none goes while
// history is kept. What is about no project is in the trail of all of them alone.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
	Next    string       `json:"next,omitempty"` // the cursor of the page after; empty on the last one
}

// AuditEntry is one decision, or one effect that came of none that was asked for.
type AuditEntry struct {
	Ref       string      `json:"ref"` // the row that says everything: "intent/<id>", "event/<key>", "decision/<key>"
	At        time.Time   `json:"at"`  // when it was decided
	Who       string      `json:"who,omitempty"`
	Link      string      `json:"link,omitempty"` // the message that asked
	Project   string      `json:"project,omitempty"`
	Component string      `json:"component,omitempty"` // where it is about one alone
	Kind      string      `json:"kind"`                // one of AuditKinds
	Result    string      `json:"result"`              // done, partly, unchanged, waits, refused, failed, open
	Outcome   string      `json:"outcome"`             // a sentence
	Intent    string      `json:"intent,omitempty"`    // id
	Gates     []AuditGate `json:"gates,omitempty"`     // what was asked; Ref and the evidence have their sentences and numbers
}

// AuditGate is a gate's verdict, by reference.
type AuditGate struct {
	Gate      string `json:"gate"`
	Component string `json:"component,omitempty"`
	Pass      bool   `json:"pass"`
	Lifted    string `json:"lifted,omitempty"` // what let the move pass although it failed
}

// The results of an AuditEntry.
const (
	AuditDone      = "done"
	AuditPartly    = "partly"    // some of what was asked for
	AuditUnchanged = "unchanged" // there was nothing to do
	AuditWaits     = "waits"     // nothing was done yet; it may be asked for again, or is by itself
	AuditRefused   = "refused"
	AuditFailed    = "failed"
	AuditOpen      = "open" // begun, and not ended yet
)

// AuditKinds lists the kinds of entries, sorted.
func AuditKinds() []string {
	var kinds []string
	for _, row := range audited {
		kinds = append(kinds, row.entry)
	}
	for _, row := range decisions {
		kinds = append(kinds, row.kind)
	}
	slices.Sort(kinds)
	return slices.DeleteFunc(slices.Compact(kinds), func(kind string) bool { return kind == "" })
}

// Audit is a page of the audit trail: every decision, those of bots among them,
// with who asked and what came of it, newest first. *Invalid for a field that cannot stand; a name
// that nothing has finds nothing.
func (c *Controller) Audit(ctx context.Context, q AuditQuery) (AuditPage, error) {
	if c.deps.History == nil {
		return AuditPage{}, noHistory()
	}
	return AuditOf(ctx, c.deps.History, q)
}

// Records is the part of History that the audit trail is read from.
type Records interface {
	Records(ctx context.Context, q RecordQuery) ([]Record, error)
}

// AuditOf is a page of the audit trail that records make, as Controller.Audit gives it.
func AuditOf(ctx context.Context, from Records, q AuditQuery) (AuditPage, error) {
	ask, err := q.records()
	if err != nil {
		return AuditPage{}, err
	}
	limit := ask.Limit
	ask.Limit++ // one more tells whether there is a page after
	records, err := from.Records(ctx, ask)
	if err != nil {
		return AuditPage{}, err
	}
	page := AuditPage{Entries: []AuditEntry{}}
	if len(records) > limit {
		records = records[:limit]
		page.Next = records[limit-1].Mark().cursor()
	}
	for _, r := range records {
		e, err := entryOf(r)
		if err != nil {
			return AuditPage{}, err
		}
		page.Entries = append(page.Entries, e)
	}
	return page, nil
}

// records is what the query asks the journal for.
func (q AuditQuery) records() (RecordQuery, error) {
	err := check(checkOptional("project", q.Project), checkOptional("component", q.Component), checkText("who", q.Who, maxWho))
	if err != nil {
		return RecordQuery{}, err
	}
	r := RecordQuery{Project: q.Project, Component: q.Component, Who: q.Who, Limit: q.Limit, Without: unread}
	switch {
	case q.Limit < 0 || q.Limit > MaxAudit:
		return r, &Invalid{Field: "limit", Value: strconv.Itoa(q.Limit), Why: fmt.Sprintf("must be 1 to %d", MaxAudit)}
	case q.Limit == 0:
		r.Limit = DefaultAudit
	}
	if kinds := AuditKinds(); q.Kind != "" && !slices.Contains(kinds, q.Kind) {
		return r, &Invalid{Field: "kind", Value: clip(q.Kind), Why: "is no kind of entry; the kinds are " + strings.Join(kinds, ", ")}
	}
	if q.Cursor != "" {
		if r.Before, err = readCursor(q.Cursor); err != nil {
			return r, err
		}
	}
	for _, row := range audited {
		switch {
		case row.entry == "" || q.Kind != "" && q.Kind != row.entry:
		case row.intent:
			r.Intents = append(r.Intents, row.kind)
		default:
			r.Events = append(r.Events, row.kind)
		}
	}
	for _, row := range decisions {
		if q.Kind == "" || q.Kind == row.kind {
			r.Decisions = append(r.Decisions, row.kind)
		}
	}
	return r, nil
}

// cursor names a record for the next page: "1772625600000000000-i31".
func (m RecordMark) cursor() string {
	return fmt.Sprintf("%d-%s%d", m.At.UnixNano(), m.Row, m.Seq)
}

// readCursor reads what cursor wrote.
func readCursor(text string) (RecordMark, error) {
	nanos, row, _ := strings.Cut(text, "-")
	at, failed := strconv.ParseInt(nanos, 10, 64)
	m := RecordMark{At: time.Unix(0, at).UTC()}
	for _, known := range []Row{RowDecision, RowIntent, RowEvent} {
		if seq, ok := strings.CutPrefix(row, string(known)); ok && failed == nil {
			m.Row = known
			m.Seq, failed = strconv.ParseInt(seq, 10, 64)
		}
	}
	if failed != nil || m.Seq < 1 || m.cursor() != text {
		return RecordMark{}, &Invalid{Field: "cursor", Value: clip(text), Why: "is none that a page before has given"}
	}
	return m, nil
}

// entryOf makes an entry of a record by the table's row for its kind.
func entryOf(r Record) (AuditEntry, error) {
	if r.Decision != nil {
		return decisionEntry(*r.Decision)
	}
	for _, row := range audited {
		switch {
		case row.entry == "":
		case row.intent && r.Intent != nil && row.kind == r.Intent.Kind:
			return intentEntry(row, *r.Intent)
		case !row.intent && r.Event != nil && row.kind == r.Event.Kind:
			return eventEntry(row, *r.Event)
		}
	}
	return AuditEntry{}, fmt.Errorf("audit: row %d is of no kind that was asked for", r.Seq)
}

// intentEntry tells an intent: what came of it, or that it is under way.
func intentEntry(row auditRow, in Intent) (AuditEntry, error) {
	origin := originOf(in)
	e := AuditEntry{Ref: "intent/" + in.ID, At: in.At, Who: in.Who, Link: origin.Link, Project: projectOf(in), Kind: row.entry, Intent: in.ID}
	var s settled
	if in.Outcome != nil {
		if err := json.Unmarshal(in.Outcome, &s); err != nil {
			return e, fmt.Errorf("audit: outcome of %s: %w", in.ID, err)
		}
	}
	told, err := row.tell(in.Body, s.Result)
	if err != nil {
		return e, fmt.Errorf("audit: %s %s: %w", in.Kind, in.ID, err)
	}
	e.Component, e.Gates, e.Result, e.Outcome = told.component, told.gates, told.result, told.sentence
	switch {
	case in.Outcome == nil:
		e.Result, e.Outcome = AuditOpen, "It was begun and has not ended yet; the next pass goes on with it."
	case s.Refusal != nil:
		e.Result, e.Outcome = AuditRefused, s.Refusal.Sentence
		e.Gates = gatesOf(e.Gates, s.Refusal.Gates)
	case s.Invalid != nil:
		e.Result, e.Outcome = AuditRefused, s.Invalid.Error()
	}
	return e, nil
}

// eventEntry tells an event that no intent tells.
func eventEntry(row auditRow, e Event) (AuditEntry, error) {
	told, err := row.tell(e.Body, nil)
	if err != nil {
		return AuditEntry{}, fmt.Errorf("audit: event %s: %w", e.Key, err)
	}
	var body struct {
		Who    string `json:"who"`
		Link   string `json:"link"`
		Origin Origin `json:"origin"`
	}
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return AuditEntry{}, fmt.Errorf("audit: event %s: %w", e.Key, err)
	}
	entry := AuditEntry{Ref: "event/" + e.Key, At: e.At, Who: body.Origin.Who, Link: body.Origin.Link,
		Project: e.Project, Component: e.Component, Kind: row.entry, Result: told.result, Outcome: told.sentence, Gates: told.gates}
	if entry.Who == "" {
		entry.Who, entry.Link = body.Who, body.Link
	}
	if row.entry == entryAutomatic {
		entry.Who = Automatic
	}
	if row.kind == EventRemoved { // "teardown/<intent>/<project>"
		entry.Intent, _, _ = strings.Cut(strings.TrimPrefix(e.Key, kindTeardown+"/"), "/")
	}
	return entry, nil
}

// gatesOf adds verdicts, by reference, each once.
func gatesOf(gates []AuditGate, verdicts []Verdict) []AuditGate {
	for _, v := range verdicts {
		g := AuditGate{Gate: v.Gate, Component: v.Component, Pass: v.Pass, Lifted: v.Lifted}
		if !slices.Contains(gates, g) {
			gates = append(gates, g)
		}
	}
	return gates
}
