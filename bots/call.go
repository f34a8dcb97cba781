package bots

import (
	"context"
	"fmt"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// callsAtMost bounds what one message may have called.
const callsAtMost = 20

// Call runs another command for who asked: parsed, authorised, dated and audited
// as if they had written it, except that nothing is put before anybody to confirm
// and that what only reads calls nothing that changes anything. What the called
// command says where it was asked is returned, and not said.
func (y *reply) Call(ctx context.Context, words []string) (commands.Called, error) {
	if err := y.last(ctx); err != nil {
		return commands.Called{}, err
	}
	y.mu.Lock()
	y.calls++
	n := y.calls
	y.mu.Unlock()
	if n > callsAtMost {
		return refusedCall(calledTooOften(y.request.Verb)), nil
	}
	r, h := y.runtime, hearing{Heard: y.heard, at: y.at}
	h.Key, h.Text, h.Press = fmt.Sprintf("%s/call/%d", y.request.Key, n), commands.Line(words...), nil
	inner := r.replyTo(h, nil)
	v := r.authorise(ctx, h, inner)
	if v.decision.Kind != "" {
		v.decision.Via = y.request.Verb
	}
	if v.run && v.call.Command.Effect == commands.Write && y.effect != commands.Write {
		return refusedCall(calledByReader(y.request.Verb, v.call)), nil
	}
	if v.run && r.cfg.Confirm.Need(v.call, inner.request.Project).Asks() {
		return refusedCall(calledUnconfirmed(y.request.Verb, v.call)), nil
	}
	if err := r.decided(ctx, inner, v.decision); err != nil {
		return commands.Called{}, err
	}
	if !v.run {
		return called(v.outcome, *v.message), nil
	}
	inner.effect = v.call.Command.Effect
	err := r.run(ctx, func(ctx context.Context) error { return v.call.Command.Run(ctx, inner.request, quiet{inner}) })
	if err != nil && ctx.Err() != nil {
		return commands.Called{}, ctx.Err()
	}
	message, outcome := r.outcome(h, inner, err)
	if message == nil {
		message = inner.final
	}
	return called(outcome, *message), nil
}

// called is an outcome as its caller sees it.
func called(outcome string, m markup.Message) commands.Called {
	how := commands.CallFailed
	switch outcome {
	case ReactionDone:
		how = commands.CallDone
	case ReactionRefused:
		how = commands.CallRefused
	}
	return commands.Called{Outcome: how, Message: m}
}

func refusedCall(m markup.Message) commands.Called { return called(ReactionRefused, m) }

// quiet is the reply of a called command: what it says where it was asked is for
// its caller. It calls nothing itself, and takes nobody's word.
type quiet struct{ to *reply }

// Answer keeps the answer.
func (q quiet) Answer(_ context.Context, m markup.Message) error {
	q.to.mu.Lock()
	defer q.to.mu.Unlock()
	q.to.final = &m
	return nil
}

// Progress is for nobody: the caller shows its own.
func (quiet) Progress(context.Context, markup.Message) error { return nil }

// Post says something in another place, as any command does.
func (q quiet) Post(ctx context.Context, key string, to commands.Place, m markup.Message) error {
	return q.to.Post(ctx, key, to, m)
}

// Traced notes the trace of the called command.
func (q quiet) Traced(id string) { q.to.Traced(id) }

func calledTooOften(by string) markup.Message {
	return markup.Message{
		Kind: "bots.call.often", Status: markup.Refused,
		Title:  markup.Spans(markup.C(by), markup.T(" calls too many commands")),
		Blocks: []markup.Block{markup.Text(markup.T(fmt.Sprintf("One message may have %d commands called for it. Ask for the rest in a message of its own.", callsAtMost)))},
	}
}

func calledByReader(by string, call commands.Call) markup.Message {
	return markup.Message{
		Kind: "bots.call.reader", Status: markup.Refused,
		Title:  markup.Spans(markup.C(by), markup.T(" says that it only reads, and may not call "), markup.C(call.Verb)),
		Blocks: []markup.Block{markup.Text(markup.C(call.Verb), markup.T(" changes something. Ask for it yourself: "), markup.C("@"+call.Command.Bot+" "+short(call.Text)), markup.T("."))},
	}
}

func calledUnconfirmed(by string, call commands.Call) markup.Message {
	return markup.Message{
		Kind: "bots.call.confirm", Status: markup.Refused,
		Title:  markup.Spans(markup.C(call.Verb), markup.T(" is confirmed before it is run, and "), markup.C(by), markup.T(" cannot ask that of you")),
		Blocks: []markup.Block{markup.Text(markup.T("Ask for it yourself: "), markup.C("@"+call.Command.Bot+" "+short(call.Text)), markup.T("."))},
	}
}
