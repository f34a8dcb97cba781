package bots_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// calling is a command that calls others, and answers with what came of it, outcome and title.
func calling(effect commands.Effect, calls ...[]string) commands.Command {
	return command("release", effect, func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
		var items [][]markup.Span
		for _, words := range calls {
			came, err := reply.(commands.Caller).Call(ctx, words)
			if err != nil {
				return err
			}
			items = append(items, markup.Spans(markup.T(string(came.Outcome)+": "+markup.Plain(markup.Message{Title: came.Message.Title}))))
		}
		return reply.Answer(ctx, markup.Message{Kind: "test.called", Status: markup.Done, Title: markup.Spans(markup.T("called")), Blocks: []markup.Block{markup.List(items...)}})
	})
}

// telling is a command that answers with its key, posts it and shows progress.
func telling(verb string, effect commands.Effect) commands.Command {
	return command(verb, effect, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
		if _, ok := reply.(commands.Caller); ok && req.Verb == "nested" {
			return reply.Answer(ctx, said("test.nested", "it may call others", markup.Failed))
		}
		if err := reply.Progress(ctx, said("test.progress", "progress of "+verb, markup.Working)); err != nil {
			return err
		}
		if err := reply.Post(ctx, "news", news, said("test.news", verb+" told", markup.Notice)); err != nil {
			return err
		}
		return reply.Answer(ctx, said("test.asked", req.Who.Persona+" did "+verb+" under "+req.Key, markup.Done))
	})
}

func TestACommandCallsOthersWithTheRightsOfWhoAskedAndNoMore(t *testing.T) {
	cmds := []commands.Command{telling("ship", commands.Write), telling("drop", commands.Write), telling("show", commands.Read), telling("nested", commands.Read)}
	talk := func(cmds []commands.Command, change ...func(*bots.Config)) *botstest.Conversation {
		config := func(c *bots.Config) {
			c.Directory, c.Policy = botstest.Everybody{"developers"}, bots.Grants{"developers": {"component:release", "component:ship"}}
		}
		return botstest.Converse(t, "platform", registry(t, cmds...), append([]func(*bots.Config){config}, change...)...)
	}
	list := func(m markup.Message) (items []string) {
		for _, row := range m.Blocks[0].Rows {
			items = append(items, row[0][0].Text)
		}
		return items
	}

	c := talk(append(cmds, calling(commands.Write, []string{"ship"}, []string{"drop"}, []string{"show"}, []string{"shw"}, []string{"ship", "two words"}, []string{"confirm", "abc"}, []string{"nested"})))
	messages, _ := c.Ask("ada", "release")
	require.Len(t, messages, 1, "what called commands say where they were asked is their caller's")
	got := list(messages[0])
	assert.Regexp(t, `^done: test:ada did ship under .*/call/1$`, got[0])
	assert.Equal(t, "refused: You may not run drop", got[1])
	assert.Regexp(t, `^done: test:ada did show under .*/call/3$`, got[2])
	assert.Equal(t, []string{"failed: There is no command shw of platform", "failed: ship was not understood: unexpected argument two words", "failed: There is nothing to confirm"}, got[3:6])
	assert.Contains(t, got[6], "did nested", "a called command calls none")
	posted := c.Chat.Bots(news)
	require.NotEmpty(t, posted)
	assert.Equal(t, "ship told", posted[0].Message.Title[0].Text)
	var decisions []string
	for _, d := range c.Store.Decisions() {
		decisions = append(decisions, d.Via+" "+d.Verb+" "+d.Kind)
	}
	slices.Sort(decisions)
	assert.Equal(t, []string{" release allowed", "release drop denied", "release ship allowed"}, decisions)

	messages, _ = talk(append(cmds, calling(commands.Read, []string{"ship"}, []string{"show"}))).Ask("ada", "release")
	got = list(messages[0])
	assert.Equal(t, "refused: release says that it only reads, and may not call ship", got[0])
	assert.Contains(t, got[1], "done: ")

	messages, _ = talk(append(cmds, calling(commands.Write, []string{"ship"})), func(c *bots.Config) {
		c.Confirm = bots.Confirmations{{Command: "platform ship", By: bots.WayReply}}
	}).Ask("ada", "release")
	assert.Equal(t, []string{"refused: ship is confirmed before it is run, and release cannot ask that of you"}, list(messages[0]))

	messages, _ = talk(append(cmds, calling(commands.Write, slices.Repeat([][]string{{"show"}}, 21)...))).Ask("ada", "release")
	got = list(messages[0])
	assert.Contains(t, got[19], "done: ")
	assert.Equal(t, "refused: release calls too many commands", got[20])
}
