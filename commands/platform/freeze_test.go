package platform_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/flowclient"
)

func (f *flow) Freezes(context.Context) ([]flowclient.Freeze, error) { return f.freezes, f.err }

func (f *flow) SetFreeze(_ context.Context, r flowclient.FreezeRequest) (flowclient.Freeze, error) {
	f.froze = append(f.froze, r)
	set := flowclient.Freeze{ID: 3, Project: r.Project, From: r.From, Until: r.Until, Reason: r.Reason, Who: r.Origin.Who, At: now}
	if set.From.IsZero() {
		set.From = now
	}
	return set, f.err
}

func (f *flow) ClearFreeze(_ context.Context, r flowclient.FreezeRequest) (flowclient.Freeze, error) {
	f.thawed = append(f.thawed, r)
	for _, one := range f.freezes {
		if one.ID == r.ID {
			return one, f.err
		}
	}
	return flowclient.Freeze{}, &flowclient.NotFound{Kind: "freeze", Name: "7"}
}

// written is when the messages of these tests were written, an hour before they are heard.
var written = now.Add(-time.Hour)

func TestAFreezeIsReadInTheZoneOfItsProject(t *testing.T) {
	for _, c := range []struct {
		text, stream, project, from, until string
		says                               []string
	}{
		{`freeze shop --until "mon 09:00" --reason sale`, "", "shop", "", "2026-11-23T00:00:00Z", []string{"Froze production of shop until Mon 23 Nov 09:00 JST", "times are of: Asia/Tokyo", "@platform thaw 3"}},
		{`freeze all --until "mon 09:00" --reason sale`, "shop", "", "", "2026-11-23T09:00:00Z", []string{"Froze production of every project until Mon 23 Nov 09:00 UTC", "times are of: UTC"}},
		{`freeze All --from 2026-12-24 --until 2027-01-04 --reason "end of year"`, "", "", "2026-12-24T00:00:00Z", "2027-01-04T00:00:00Z", []string{"Production of every project will be frozen in 33 d 6 h", "from:         Thu 24 Dec 00:00 UTC", "until:        Mon 4 Jan 2027 00:00 UTC"}},
		{`freeze blog --until 2h --reason sale`, "", "blog", "", "2026-11-20T19:00:00Z", []string{"until Fri 20 Nov 19:00 UTC"}}, // from when it was written
		{`freeze shop --until 2026-12-24T17:00-05:00 --reason sale`, "", "shop", "", "2026-12-24T22:00:00Z", []string{"Fri 25 Dec 07:00 JST"}},
	} {
		f := newFlow()
		f.windows = map[string]string{"shop": "Mon-Fri 09:00-17:00 Asia/Tokyo"}
		rec := ask(t, f, commandstest.Ask{Text: c.text, Project: c.stream, At: written})
		require.NoError(t, rec.Err, c.text)
		require.Len(t, f.froze, 1)
		assert.Equal(t, c.project, f.froze[0].Project, c.text)
		assert.Equal(t, c.until, f.froze[0].Until.UTC().Format(time.RFC3339), c.text)
		if c.from == "" {
			assert.True(t, f.froze[0].From.IsZero(), "it begins when the controller sets it")
		} else {
			assert.Equal(t, c.from, f.froze[0].From.UTC().Format(time.RFC3339), c.text)
		}
		for _, says := range c.says {
			assert.Contains(t, markup.Plain(rec.Answer()), says, c.text)
		}
	}
}

func TestAFreezeHeardAgainAsksForTheSameInstants(t *testing.T) {
	f := newFlow()
	for range 2 {
		require.NoError(t, ask(t, f, commandstest.Ask{Text: `freeze shop --from 30m --until "fri 23:00" --reason sale`, At: written}).Err)
	}
	require.Len(t, f.froze, 2)
	assert.Equal(t, f.froze[0], f.froze[1])
}

func TestWhatCannotBeFrozenIsSaid(t *testing.T) {
	for text, says := range map[string]string{
		`freeze shpo --until 2h --reason x`:              `Project "shpo" does not exist. Did you mean shop?`,
		`freeze shop --until soon --reason x`:            `--until "soon": it is no instant; write a day (2026-12-24)`,
		`freeze shop --until 2h --from never --reason x`: `--from "never": it is no instant`,
		`freeze shop --until 2h --reason "  "`:           "The option --reason is empty",
		`freeze shop --reason x`:                         "missing: --until",
		`freeze list --until 2h --reason x`:              `Project "list" does not exist`,
		`thaw soon`:                                      `"soon"`,
		`thaw`:                                           "missing: <id>",
	} {
		f := newFlow()
		rec := ask(t, f, commandstest.Ask{Text: text, At: written})
		var refusal commands.Refusal
		require.ErrorAs(t, rec.Err, &refusal, text)
		assert.Contains(t, refusal.Refused(), says, text)
		assert.Empty(t, append(f.froze, f.thawed...), text)
	}
}

func TestFreezesAreListedForWhomTheyConcern(t *testing.T) {
	f := newFlow()
	f.windows = map[string]string{"shop": "Mon-Fri 09:00-17:00 Asia/Tokyo"}
	f.freezes = []flowclient.Freeze{
		{ID: 3, From: now.Add(-time.Hour), Until: now.Add(time.Hour), Reason: "end of *year*", Who: "sre", At: now.Add(-time.Hour)},
		{ID: 4, Project: "shop", From: now.Add(48 * time.Hour), Until: now.Add(72 * time.Hour), Reason: "sale", Who: "ops", At: now},
	}
	for _, c := range []struct {
		text, stream, title string
		says                []string
	}{
		{"freezes", "", "2 freezes hold or are to come", []string{"3: every project holds until Fri 20 Nov 19:00 UTC: end of *year* (set by sre, 1 h ago)", "4: shop begins Sun 22 Nov 18:00 UTC, in 2 d, and lasts until"}},
		{"freeze list", "", "2 freezes hold or are to come", nil},
		{"freezes", "shop", "2 freezes of shop hold or are to come", []string{"Sat 21 Nov 04:00 JST", "Times are of Asia/Tokyo"}},
		{"freezes blog", "shop", "1 freeze of blog holds or is to come", nil},
	} {
		rec := ask(t, f, commandstest.Ask{Text: c.text, Project: c.stream})
		require.NoError(t, rec.Err)
		for _, says := range append(c.says, c.title) {
			assert.Contains(t, markup.Plain(rec.Answer()), says)
		}
	}
	f.freezes = nil
	assert.Equal(t, "freezes.none", ask(t, f, commandstest.Ask{Text: "freezes"}).Answer().Kind)
}

func TestAFreezeIsEndedByItsNumber(t *testing.T) {
	f := newFlow()
	f.freezes = []flowclient.Freeze{{ID: 4, Project: "shop", From: now.Add(48 * time.Hour), Until: now.Add(72 * time.Hour), Reason: "sale", Who: "ops", At: now}}
	rec := ask(t, f, commandstest.Ask{Text: "thaw 4", Key: "zulip:31", Link: "http://chat/31"})
	require.NoError(t, rec.Err)
	assert.Contains(t, markup.Plain(rec.Answer()), "Called off the freeze of shop that would have begun in 2 d")
	assert.Equal(t, []flowclient.FreezeRequest{{Origin: flowclient.Origin{Key: "zulip:31", Who: "developer", Link: "http://chat/31"}, ID: 4}}, f.thawed)
	rec = ask(t, f, commandstest.Ask{Text: "thaw 7"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "thaw.nothing", rec.Answer().Kind)
	assert.Contains(t, markup.Plain(rec.Answer()), "4: shop begins")
}

func TestWindowTellsWhenItChangesAndWhatFreezesThere(t *testing.T) {
	f := newFlow()
	f.windows = map[string]string{"shop": "Mon-Fri 09:00-17:00 Asia/Tokyo"}
	rec := ask(t, f, commandstest.Ask{Text: "window", Project: "shop"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "window.open", rec.Answer().Kind)
	assert.Contains(t, markup.Plain(rec.Answer()), "Production of shop may be changed now")
}
