package bots

import (
	"fmt"
	"slices"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// asks is the message that shows a question: the plan, and how to answer in
// words, which works in every chat; beside it what the policy allows.
func (q question) asks(bot string) markup.Message {
	m := markup.Message{
		Kind: "bots.confirm", Status: markup.Notice,
		Title: markup.Spans(markup.T("Go on with "), markup.C(short(q.Heard.Text)), markup.T("?")),
	}
	if q.Turn > 1 {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("What it would do has changed since it was asked about. It is now:")))
	}
	m.Blocks = append(m.Blocks, q.plan()...)
	var how []markup.Span
	if q.Need.FourEyes {
		how = markup.Spans(markup.T("Somebody other than "), markup.F(q.Heard.Name), markup.T(" who may do it must confirm it. "))
	}
	how = append(how, markup.C("@"+bot+" confirm "+q.Code), markup.T(" goes on; "), markup.C("@"+bot+" cancel "+q.Code), markup.T(" calls it off."))
	if q.Need.Way == WayReaction {
		how = append(how, markup.T(" So do the reactions ✅ and ❌ to this message."))
	}
	until := fmt.Sprintf(" It waits until %s, and changes nothing before it is confirmed.", q.Until.UTC().Format("15:04 UTC"))
	m.Blocks = append(m.Blocks, markup.Text(append(how, markup.T(until))...))
	if q.Need.Way == WayButton {
		m.Blocks = append(m.Blocks, markup.Actions(
			markup.Button{Text: "Go on", Value: pressYes + q.Nonce, Style: markup.Primary},
			markup.Button{Text: "Call off", Value: pressNo + q.Nonce}))
	}
	return m
}

// plan is what is shown of what would be done.
func (q question) plan() []markup.Block {
	return append([]markup.Block{markup.Text(q.Plan.Message.Title...)}, q.Plan.Message.Blocks...)
}

// settled is what becomes of the question's message: who answered, and how. The
// code stays in it, so that no two such messages are the same.
func (q question) settled(who string) markup.Message {
	text := markup.C(short(q.Heard.Text))
	code := markup.Spans(markup.T("That was the question "), markup.C(q.Code), markup.T("."))
	switch q.outcome {
	case settledYes:
		return markup.Message{
			Kind: "bots.confirmed", Status: markup.Done, Title: markup.Spans(markup.F(who), markup.T(" went on with "), text),
			Blocks: append(q.plan(), markup.Text(code...)),
		}
	case settledChanged:
		return q.changed(append(code, markup.T(" Nothing was changed.")))
	default:
		return markup.Message{
			Kind: "bots.cancelled", Status: markup.Refused, Title: markup.Spans(markup.F(who), markup.T(" called off "), text),
			Blocks: []markup.Block{markup.Text(append(code, markup.T(" Nothing was changed."))...)},
		}
	}
}

// changed is what becomes of the message of a question whose plan no longer holds:
// how what would be done now differs from what was shown.
func (q question) changed(code []markup.Span) markup.Message {
	m := markup.Message{
		Kind: "bots.changed", Status: markup.Notice,
		Title: markup.Spans(markup.C(short(q.Heard.Text)), markup.T(" would no longer do what was shown")),
	}
	if q.now == nil { // nothing would be done now; why is the answer
		m.Blocks = []markup.Block{markup.Text(append(code, markup.T(" It would not be done now; why stands below."))...)}
		return m
	}
	below := " What it would do now stands below, to be confirmed anew."
	if q.now.Fingerprint == "" {
		below = " There is nothing left to do; what it found stands below."
	}
	if changes := changesBetween(q.Plan.Message, q.now.Message); len(changes) > 0 {
		m.Blocks = []markup.Block{markup.Text(markup.T("Since it was asked about, this has changed:")), markup.List(changes...)}
	} else {
		m.Blocks = []markup.Block{markup.Text(markup.T("What it acts on has changed since it was asked about, although it reads the same."))}
	}
	m.Blocks = append(m.Blocks, markup.Text(append(code, markup.T(below))...))
	return m
}

// unplannable stands for the plan of a command that cannot tell what it would do.
func unplannable(call commands.Call) markup.Message {
	return markup.Message{Title: markup.Spans(markup.T("It would "), markup.T(call.Command.Summary), markup.T("."))}
}

// unaskable refuses what is to be confirmed where a question cannot be kept.
func unaskable(call commands.Call) markup.Message {
	return markup.Message{
		Kind: "bots.unaskable", Status: markup.Refused,
		Title:  markup.Spans(markup.C(call.Verb), markup.T(" is to be confirmed, and nobody can be asked here")),
		Blocks: []markup.Block{markup.Text(markup.T("This bot keeps no questions. Nothing was changed. Ask an administrator to give it a store for them."))},
	}
}

// noQuestion answers a code that picks nothing.
func noQuestion(code string) markup.Message {
	return markup.Message{
		Kind: "bots.noquestion", Status: markup.Failed,
		Title:  markup.Spans(markup.T("Nothing is asked under the code "), markup.C(short(code))),
		Blocks: []markup.Block{markup.Text(markup.T("Look at the code under the question; an old one is forgotten after an hour. Nothing was changed."))},
	}
}

// answeredAlready answers the second word to a question: a code is used once.
func answeredAlready(q question) markup.Message {
	how := map[string]string{settledYes: "gone on with", settledNo: "called off", settledChanged: "asked about anew"}[q.outcome]
	if how == "" {
		how = "answered"
	}
	return markup.Message{
		Kind: "bots.answered", Status: markup.Refused,
		Title:  markup.Spans(markup.T("That was "+how+" already: "), markup.C(short(q.Heard.Text))),
		Blocks: []markup.Block{markup.Text(markup.T("A code is used once. Ask for it again if it should be done again."))},
	}
}

// lapsed answers a word that came too late.
func lapsed(q question) markup.Message {
	return markup.Message{
		Kind: "bots.lapsed", Status: markup.Refused,
		Title: markup.Spans(markup.T("That could be answered until "+q.Until.UTC().Format("15:04 UTC")+": "), markup.C(short(q.Heard.Text))),
		Blocks: []markup.Block{markup.Text(markup.T(
			"Nothing was changed. Ask for it again, and you are shown what it would do now."))},
	}
}

// somebodyElse answers who asked, where two must look.
func somebodyElse(q question) markup.Message {
	return markup.Message{
		Kind: "bots.foureyes", Status: markup.Refused,
		Title: markup.Spans(markup.T("Somebody else must confirm "), markup.C(short(q.Heard.Text))),
		Blocks: []markup.Block{markup.Text(markup.T(
			"You asked for it yourself, and here two people look at it. Nothing was changed. Ask somebody who may do it as well to give the code."))},
	}
}

// notYours answers somebody who confirms what another asked for.
func notYours(q question) markup.Message {
	return markup.Message{
		Kind: "bots.notyours", Status: markup.Refused,
		Title: markup.Spans(markup.T("Only "), markup.F(q.Heard.Name), markup.T(" can confirm "), markup.C(short(q.Heard.Text))),
		Blocks: []markup.Block{markup.Text(markup.T(
			"Who asked for it confirms it. Nothing was changed. You may call it off, or ask for it yourself."))},
	}
}

// limited answers the first message of somebody who asks too fast.
func limited(limit Rate, wait time.Duration) markup.Message {
	wait = max((wait + time.Second - 1).Truncate(time.Second), time.Second)
	return markup.Message{
		Kind: "bots.limited", Status: markup.Refused,
		Title: markup.Spans(markup.T("Slow down; ask again " + markup.In(wait))),
		Blocks: []markup.Block{markup.Text(markup.T(fmt.Sprintf(
			"I answer %s a minute to one person, and %d at once. What is asked until then is not run, and gets no answer. Nothing was changed.", count(limit.PerMinute, "message"), max(limit.Burst, 1))))},
	}
}

// count is a number with what is counted.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// explained tells who may do what a call asks for, whether who asks may, and what is asked before.
func explained(p commands.Person, call commands.Call, need Need, limit Rate, late time.Duration, holders func(string) []string, allowed func(string) bool) markup.Message {
	actions := call.Actions()
	var lacking []string
	permissions := markup.Spans(markup.T("none: everybody whom the bot knows may"))
	for i, action := range actions {
		if i == 0 {
			permissions = nil
		} else {
			permissions = append(permissions, markup.T("; "))
		}
		permissions = append(permissions, markup.C(action), markup.T(": "+names(holders(action), "nobody")))
		if !allowed(action) {
			lacking = append(lacking, action)
		}
	}
	may := len(lacking) == 0 && (len(actions) > 0 || call.Command.Effect == commands.Read)
	m := markup.Message{Kind: "bots.explained", Status: markup.Notice, Title: markup.Spans(markup.T("You may ask for "), markup.C(short(call.Text)))}
	you := markup.Spans(markup.F(p.Name), markup.T(", "), markup.C(p.Persona), markup.T(" ("+names(p.Groups, "no group")+")"))
	if !may {
		m.Kind, m.Title = "bots.explained.no", markup.Spans(markup.T("You may not ask for "), markup.C(short(call.Text)))
		for i, action := range lacking {
			you = append(you, markup.T([]string{"; you lack ", " and "}[min(i, 1)]), markup.C(action))
		}
	}
	effect := "it only reads, at whatever time it is asked"
	if call.Command.Effect == commands.Write {
		effect = fmt.Sprintf("it changes something; what I hear more than %s late is not run", markup.Took(late))
	}
	if call.Command.Effect == commands.Write && !call.Changes() {
		effect = "asked like this it changes nothing"
	}
	m.Blocks = []markup.Block{
		markup.Text(markup.T(call.Command.Bot + ", " + call.Verb + ": " + call.Command.Summary + ".")),
		markup.Fields(
			markup.Named("permission", permissions...), markup.Named("you", you...), markup.Named("effect", markup.T(effect)),
			markup.Named("asked before", markup.T(need.sentence(call))), markup.Named("pace", markup.T(limit.sentence())))}
	if !may && len(lacking) > 0 {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("Ask "+whom(holders(lacking[0]))+".")))
	}
	return m
}

// names writes a list, or what stands for an empty one.
func names(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	text := ""
	for i, n := range slices.Sorted(slices.Values(list)) {
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}

// sentence says what is asked before a call is run.
func (n Need) sentence(call commands.Call) string {
	if !n.Asks() {
		return "nothing: it is run at once"
	}
	text := "you are shown what it would do, and confirm it"
	if n.FourEyes {
		text = "what it would do is shown, and somebody else who may confirms it"
	}
	text += map[Way]string{
		WayReaction: " by a reaction or a reply with the code", WayButton: " by a button, where the chat has them, or a reply with the code", WayReply: " by a reply with the code",
	}[n.Way]
	if call.Forced() {
		text += ", because it goes on against a gate"
	}
	return text
}

// sentence says how much one person may ask.
func (l Rate) sentence() string {
	if l.PerMinute <= 0 {
		return "as much as you like"
	}
	return fmt.Sprintf("%s a minute, %d at once", count(l.PerMinute, "message"), max(l.Burst, 1))
}
