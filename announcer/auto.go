package announcer

import (
	"fmt"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// kept is what an automatic pass leaves where it is, in words by kind of event.
type kept struct {
	status markup.Status
	title  string // after the project
	remedy string // what a person may do; "" when the gate's own sentence says it
}

// keeps has the words for each kind of auto.*.
var keeps = map[string]kept{
	flowclient.EventAutoParked:    {markup.Notice, " is parked: all that it waits for is the production window", "It moves by itself when the window opens."},
	flowclient.EventAutoRefused:   {markup.Refused, " does not fit into production", "It is tried again every ten minutes, and not told again until the numbers change."},
	flowclient.EventAutoLeftOut:   {markup.Notice, " is left out of the automatic promotion", ""},
	flowclient.EventAutoLeftAlone: {markup.Failed, " is left alone: its page in staging does not pass the check", "It moves by itself once it does."},
	flowclient.EventAutoBroken:    {markup.Failed, " is not promoted automatically: an annotation cannot be read", ""},
}

// automaticKept tells, once per episode, what the automatic pass leaves where
// it is and why: the gate's sentence word for word, and what would move.
func automaticKept(e flowclient.Event, b flowclient.AutoEvent) markup.Message {
	k := keeps[e.Kind]
	subject := e.Project
	if len(b.Set) == 1 {
		subject = b.Set[0]
	}
	m := markup.Message{Status: k.status, Title: markup.Spans(markup.B(subject), markup.T(k.title)),
		Blocks: []markup.Block{markup.Text(markup.F(b.Sentence))}}
	var items [][]markup.Span
	for _, c := range b.Moves {
		items = append(items, waitingMove(c))
	}
	if items != nil {
		m.Blocks = append(m.Blocks, markup.List(items...))
	}
	if k.remedy != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.T(k.remedy)))
	}
	if b.Flips != nil {
		m.Blocks = append(m.Blocks, markup.Fields(markup.Named("not before", markup.T(b.Flips.UTC().Format("Mon 2 Jan 15:04 MST")))))
	}
	return m
}

// windowOpened tells what becomes of what waited for the window: what is
// promoted now, and what else keeps the rest, in the gates' own sentences.
func windowOpened(e flowclient.Event, b flowclient.AutoEvent) markup.Message {
	var moving, waiting [][]markup.Span
	for _, c := range b.Moves {
		if c.Result == flowclient.Promoted {
			moving = append(moving, waitingMove(c))
		} else {
			waiting = append(waiting, markup.Spans(markup.B(c.Component), markup.T(" still waits: "), markup.F(c.Sentence)))
		}
	}
	m := markup.Message{Status: markup.Notice, Title: markup.Spans(markup.T("The window of "), markup.B(e.Project), markup.T(" opened: "+outOf(len(moving), len(waiting)))),
		Blocks: []markup.Block{markup.Text(markup.F(b.Sentence)), markup.List(append(moving, waiting...)...)}}
	return m
}

// outOf counts what an open window lets through, and what it does not: "2 components are promoted, 1 still waits".
func outOf(moving, waiting int) string {
	some := func(n int, one, several string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %s", n, several)
	}
	switch {
	case waiting == 0:
		return some(moving, "component is promoted", "components are promoted")
	case moving == 0:
		return some(waiting, "component still waits", "components still wait")
	}
	return some(moving, "component is promoted", "components are promoted") + ", " + some(waiting, "still waits", "still wait")
}

// waitingMove is one component that would move: from which commit to which.
func waitingMove(c flowclient.ComponentOutcome) []markup.Span {
	return append(markup.Spans(markup.B(c.Component), markup.T(": ")), fromTo(c)...)
}

// external tells of a pin of production that the controller did not make.
func external(e flowclient.Event, b flowclient.ExternalEvent) markup.Message {
	what := markup.Spans(markup.C(b.Binding), markup.T(" names "), markup.C(named(b.ToCommit, b.To)))
	if b.From != "" {
		what = append(what, markup.T("; the controller had put "), markup.C(named(b.FromCommit, b.From)), markup.T(" there"))
	}
	what = append(what, markup.T(". No lock, window or soak was asked for it."))
	return markup.Message{
		Status: markup.Notice,
		Title:  markup.Spans(markup.B(e.Project), markup.T(" was changed in production past the flow controller")),
		Blocks: []markup.Block{
			markup.Text(what...),
			markup.Fields(markup.Named("first seen", markup.T(b.At.UTC().Format("Mon 2 Jan 15:04 MST")))),
			markup.Text(markup.T("Whoever did it: "), markup.C("@platform why "+e.Project), markup.T(" tells what would happen next.")),
		},
	}
}

// autoBodies has a sample of what an automatic pass leaves where it is.
func autoBodies(noon time.Time) []sampleBody {
	const first, second = "1a2b3c4d5e6f708192a3b4c5d6e7f80912a3b4c5", "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c"
	opens := noon.Add(69 * time.Hour)
	moves := []flowclient.ComponentOutcome{
		{Component: "shop-api", To: "shop-api-2b3c4d5e", ToCommit: second},
		{Component: "shop-web", From: "shop-web-6f708192", FromCommit: first, To: "shop-web-2b3c4d5e", ToCommit: second},
	}
	body := func(cause, sentence string, flips *time.Time, of ...flowclient.ComponentOutcome) flowclient.AutoEvent {
		b := flowclient.AutoEvent{Cause: cause, Sentence: sentence, Moves: of, Flips: flips}
		for _, c := range of {
			b.Set = append(b.Set, c.Component)
		}
		return b
	}
	promoted, waits := moves[1], moves[0]
	promoted.Result, waits.Result = flowclient.Promoted, flowclient.Retry
	waits.Sentence = "shop-api 9f8e7d6 has been in staging for 12 min of 30 min; ask again in 18 min."
	return []sampleBody{
		{flowclient.EventAutoOpened, body("window", "Production changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Open now; closes Mon 23 Nov 17:00 GMT, in 8 h.", nil, promoted, waits)},
		{flowclient.EventAutoParked, body("window", "Production changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Closed now; opens Mon 23 Nov 09:00 GMT, in 2 d 21 h.", &opens, moves...)},
		{flowclient.EventAutoRefused, body("capacity", "production of shop has no room for shop-api and shop-web: memory needs 512Mi + 307Mi margin; 3.4Gi of 4Gi used; short by 205Mi. shop-web alone would fit. Free some, raise the quota, or force it.", nil, moves...)},
		{flowclient.EventAutoLeftOut, body("lock", "shop-web 9f8e7d6 is locked in production by sre since Fri 20 Nov 11:48 UTC: breaks the *checkout*. Clear the lock on shop-web 9f8e7d6 to go on.", nil, moves[1])},
		{flowclient.EventAutoLeftAlone, body("check", "shop-web answers 503 at http://staging-shop.apps.platform.localhost:19080/shop-web-http/; ask again when it answers below 500.", nil, moves[1])},
		{flowclient.EventAutoBroken, body("soak", `the soak "five *minutes*" of shop is no duration; write it as 5m or 1h30m.`, nil, moves...)},
		{flowclient.EventExternal, flowclient.ExternalEvent{Binding: "shop-web-production", From: "shop-web-6f708192", FromCommit: first, To: "shop-web-2b3c4d5e", ToCommit: second, At: noon}},
	}
}
