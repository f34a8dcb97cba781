package platform_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/commands/platform"
	"platform.dev/platform/flowclient"
)

// Audit answers with one entry and keeps what it was asked.
func (f *flow) Audit(_ context.Context, q flowclient.AuditQuery) (flowclient.AuditPage, error) {
	f.audits = append(f.audits, q)
	return flowclient.AuditPage{Entries: []flowclient.AuditEntry{{At: now.Add(-time.Hour), Who: "sre", Project: "shop", Kind: "lock", Result: flowclient.AuditDone, Outcome: "Locked it."}}}, f.err
}

// Dora answers with one measure and keeps what it was asked.
func (f *flow) Dora(_ context.Context, project string, days int) (flowclient.DoraReport, error) {
	f.measured = append(f.measured, measured{project, days})
	return flowclient.DoraReport{Project: project, Promotions: 1, Measures: []flowclient.Measure{{Name: "deployment frequency", Value: "1 promotion", Means: "Promotions."}}}, f.err
}

// measured is what dora was asked for.
type measured struct {
	project string
	days    int
}

func TestAuditAsksForWhatThePersonNames(t *testing.T) {
	for _, c := range []struct {
		text, stream string
		want         flowclient.AuditQuery
	}{
		{"audit", "", flowclient.AuditQuery{Limit: 10}},
		{"audit", "shop", flowclient.AuditQuery{Project: "shop", Limit: 10}},
		{"audit gone", "shop", flowclient.AuditQuery{Project: "gone", Limit: 10}},
		{"audit shop --component shop-web --who auto --kind promotion --last 50", "", flowclient.AuditQuery{Project: "shop", Component: "shop-web", Who: "auto", Kind: "promotion", Limit: 50}},
	} {
		f := newFlow()
		rec := ask(t, f, commandstest.Ask{Text: c.text, Project: c.stream})
		require.NoError(t, rec.Err, c.text)
		assert.Equal(t, []flowclient.AuditQuery{c.want}, f.audits, c.text)
		assert.Contains(t, markup.Plain(rec.Answer()), "1 h ago: lock", c.text)
		assert.Contains(t, markup.Plain(rec.Answer()), "by sre. Locked it.", c.text)
	}
}

func TestTheHelpOfAuditListsEveryKind(t *testing.T) {
	f := newFlow()
	all, err := platform.New(platform.Deps{Reader: f, Promoter: f, Locker: f, Freezer: f, Witness: f, Reviewer: f, Differ: f, Measurer: f, Auditor: f, Now: clock})
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(c commands.Command) bool { return c.Verb == "audit" })
	kind, ok := reflect.TypeOf(all[i].Args()).Elem().FieldByName("Kind")
	require.True(t, ok)
	kinds := flowclient.AuditKinds()
	last := len(kinds) - 1
	assert.Equal(t, "Only one kind: "+strings.Join(kinds[:last], ", ")+" or "+kinds[last]+".", kind.Tag.Get("help"))
}

func TestDoraMeasuresTheProjectThatIsMeant(t *testing.T) {
	for _, c := range []struct {
		text, stream string
		want         measured
	}{
		{"dora shop", "", measured{"shop", 30}}, {"dora", "blog", measured{"blog", 30}}, {"dora shop --days 7", "blog", measured{"shop", 7}},
	} {
		f := newFlow()
		rec := ask(t, f, commandstest.Ask{Text: c.text, Project: c.stream})
		require.NoError(t, rec.Err, c.text)
		assert.Equal(t, []measured{c.want}, f.measured, c.text)
		assert.Equal(t, "dora.report", rec.Answer().Kind)
	}
}

func TestWhatCannotBeAskedOfTheRecordIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"audit --last 0": "must be 1 to 50", "audit --last 51": "must be 1 to 50", "dora shpo": "Did you mean shop?", "dora": "Say which project", "dora shop --days many": "days",
	} {
		f := newFlow()
		rec := ask(t, f, commandstest.Ask{Text: text})
		var refusal commands.Refusal
		require.ErrorAs(t, rec.Err, &refusal, text)
		assert.Contains(t, refusal.Refused(), says, text)
		assert.Empty(t, f.audits, text)
		assert.Empty(t, f.measured, text)
	}
}
