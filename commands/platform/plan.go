package platform

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// planOf makes a plan of the outcome of a dry run, or declines what is refused,
// as the command itself would. Nothing that moves is nothing to confirm.
func planOf(dir direction, project string, cs []flowclient.ComponentDelivery, o flowclient.Outcome, err error) (commands.Plan, error) {
	var refusal *flowclient.Refusal
	if errors.As(err, &refusal) {
		return commands.Plan{}, &commands.Declined{Message: refusedMessage(dir, project, refusal)}
	}
	if err != nil {
		return commands.Plan{}, err
	}
	lifted := forced(o)
	sum, moves := sha256.New(), false
	for _, c := range o.Components {
		moves = moves || c.Result == dir.done
		fmt.Fprintf(sum, "%s %s %s %s\n", c.Component, c.Result, c.From, c.To)
	}
	for _, v := range lifted {
		fmt.Fprintf(sum, "%s %s\n", v.Gate, v.Component)
	}
	plan := commands.Plan{Message: movedMessage(dir, project, cs, o)}
	if len(lifted) > 0 {
		plan.Message = forcedMessage(project, o, lifted, cs)
	}
	if moves {
		plan.Fingerprint = hex.EncodeToString(sum.Sum(nil))
	}
	return plan, nil
}

// forcedMessage is the plan of what force would do: what it goes on against, and what would move.
func forcedMessage(project string, o flowclient.Outcome, lifted []flowclient.Verdict, cs []flowclient.ComponentDelivery) markup.Message {
	var refused [][]markup.Span
	for _, v := range lifted {
		refused = append(refused, markup.Spans(markup.B(v.Gate), markup.T(": "), markup.F(v.Sentence)))
	}
	m := movedMessage(planned, project, cs, flowclient.Outcome{Project: o.Project, Components: o.Components})
	m.Kind = "promote.confirm"
	m.Blocks = append([]markup.Block{markup.Text(markup.T("It would go on against this, and be recorded:")), markup.List(refused...), markup.Text(markup.T("This would move:"))}, m.Blocks...)
	return m
}
