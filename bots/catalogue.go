package bots

import (
	"errors"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// forcing are arguments that ask to go on against a gate.
type forcing struct{}

func (forcing) Forced() bool { return true }

// Catalogue gives one sample of each message kind that a runtime itself says,
// for golden files and for people who want to see what a bot says.
func Catalogue() []markup.Message {
	const half = 30 * time.Minute
	var (
		asked = Heard{Name: "Mallory @**all**", ChatID: "zulip:66"}
		dev   = commands.Person{Name: "Dev Developer", Persona: "developer", Groups: []string{"developers"}}
		lock  = commands.Call{Verb: "lock", Command: commands.Command{Action: "commit:lock", Effect: commands.Write}}
		lost  = errors.New("control plane: read bindings of shop: connection refused")
	)
	promote := commands.Call{
		Verb: "promote", Text: "promote shop --force", Args: forcing{},
		Command: commands.Command{
			Bot: "platform", Verb: "promote", Summary: "move what staging runs to production", Action: "component:promote", Effect: commands.Write,
			Needs: func(any) []string { return []string{"component:force"} },
		},
	}
	holding := func(string) []string { return []string{"platform-engineers", "admins"} }
	lock.Text, lock.Command.Bot, lock.Command.Verb, lock.Command.Summary = "lock shop-web 4f2a91c", "platform", "lock", "refuse promotion and rollback to a commit"
	samples := []markup.Message{
		unknownPerson(asked, "platform"),
		denied(dev, lock, "commit:lock", []string{"admins", "platform-engineers"}),
		denied(dev, lock, "commit:seal", []string{"admins"}),
		stale(lock, 3*time.Hour),
		refused("Commit 4f2a91c is locked by Sam SRE: \"bad migration\".\nAsk Sam, or unlock it."),
		finished("lock"),
		failed("7ad35afa", lost),
		overtime("7ad35afa", half, lost),
		limited(DefaultRate, 12*time.Second),
		explained(dev, lock, Need{}, DefaultRate, 5*time.Minute, holding, may(true)),
		explained(dev, promote, Need{Way: WayButton, FourEyes: true}, DefaultRate, 5*time.Minute, holding, may(false)),
		unaskable(promote),
		noQuestion("k7m2qx"),
		calledTooOften("release"),
		calledByReader("report", lock),
		calledUnconfirmed("release", promote),
	}
	return append(samples, questionSamples()...)
}

// may answers for every permission.
func may(all bool) func(string) bool { return func(string) bool { return all } }

// questionSamples are what a runtime says of one question as it goes on.
func questionSamples() []markup.Message {
	q := question{
		Heard: Heard{Name: "Dev Developer", Text: "promote shop --force"}, Turn: 2,
		Plan: commands.Plan{Message: markup.Message{
			Title:  markup.Spans(markup.T("Would promote "), markup.B("shop"), markup.T(" to production")),
			Blocks: []markup.Block{markup.List(markup.Spans(markup.C("shop-web"), markup.T(": "), markup.C("4f2a91c"), markup.T(" → "), markup.C("9f8e7d6")))},
		}},
		Code: "k7m2qx", Nonce: "N", Need: Need{Way: WayButton, FourEyes: true}, Until: time.Date(2026, 3, 2, 10, 10, 0, 0, time.UTC),
	}
	samples := []markup.Message{q.asks("platform"), answeredAlready(q), lapsed(q), somebodyElse(q), notYours(q)}
	q.now = &commands.Plan{Fingerprint: "another", Message: markup.Message{
		Title: q.Plan.Message.Title,
		Blocks: []markup.Block{markup.List(
			markup.Spans(markup.C("shop-web"), markup.T(": "), markup.C("4f2a91c"), markup.T(" → "), markup.C("5e6f7a8")),
			markup.Spans(markup.C("shop-api"), markup.T(": "), markup.C("1a2b3c4"), markup.T(" → "), markup.C("7d8e9f0")))},
	}}
	for _, how := range []string{settledYes, settledNo, settledChanged} {
		q.outcome = how
		samples = append(samples, q.settled("Petra @**all**"))
	}
	return samples
}
