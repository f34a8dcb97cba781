package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures/goldenfile"
	"platform.dev/platform/flowclient"
)

func TestTheHelpOfAuditListsEveryKind(t *testing.T) {
	kind, ok := reflect.TypeFor[auditCmd]().FieldByName("Kind")
	require.True(t, ok)
	kinds := flowclient.AuditKinds()
	last := len(kinds) - 1
	require.Equal(t, "Only one kind: "+strings.Join(kinds[:last], ", ")+" or "+kinds[last]+".", kind.Tag.Get("help"))
}

func TestTheRecordIsTold(t *testing.T) {
	nothing := flowclient.Dora(nil, noon.AddDate(0, 0, -30), noon)
	nothing.Project = "shop"
	happened := func(age time.Duration, kind string, body any) flowclient.Event {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		return flowclient.Event{At: noon.Add(-age), Kind: kind, Project: "shop", Body: text}
	}
	move := flowclient.ComponentOutcome{Component: "shop-web", Result: flowclient.Promoted, From: "shop-web-1", To: "shop-web-2", FromCommit: oldSHA, ToCommit: newSHA}
	back := flowclient.ComponentOutcome{Component: "shop-web", Result: flowclient.RolledBack, From: "shop-web-2", To: "shop-web-1"}
	starved := flowclient.Dora([]flowclient.Event{
		happened(50*time.Hour, flowclient.EventBuildStarted, flowclient.BuildEvent{Build: flowclient.Build{Component: "shop-web", Commit: oldSHA}}),
		happened(30*time.Hour, flowclient.EventBuildStarted, flowclient.BuildEvent{Build: flowclient.Build{Component: "shop-web", Commit: newSHA}}),
		happened(3*time.Hour, flowclient.EventPromoted, flowclient.MoveEvent{Outcome: flowclient.Outcome{Components: []flowclient.ComponentOutcome{move}}}),
		happened(2*time.Hour, flowclient.EventRolledBack, flowclient.MoveEvent{Outcome: flowclient.Outcome{Components: []flowclient.ComponentOutcome{back}}}),
	}, noon.AddDate(0, 0, -30), noon)
	starved.Project = "shop"
	starved.Soak = &flowclient.SoakEstimate{Note: "About 6.0 merges an hour into shop meet a soak of 30 min."}
	for name, write := range map[string]func(io.Writer){
		"dora-of-nothing": func(w io.Writer) { printDora(w, nothing, noon) },
		"dora":            func(w io.Writer) { printDora(w, starved, noon) },
		"audit": func(w io.Writer) {
			printAudit(w, flowclient.AuditPage{Next: "L2F1ZGl0", Entries: []flowclient.AuditEntry{
				{At: noon, Who: "Sam SRE", Link: "http://127.0.0.1:9991/#narrow/near/31", Project: "shop", Component: "shop-web", Kind: "lock", Result: "done", Outcome: "Locked shop-web 1a2b3c4 in every environment: breaks the\ncart\x1b[31m."},
				{At: *before(time.Hour), Kind: "review", Result: "waits", Project: "shop", Outcome: "The review environment pr-7 of platform/shop#7 at 9f8e7d6 waits for a place."},
				{At: *before(2 * time.Hour), Who: "zulip:66", Link: "http://127.0.0.1:9991/#narrow/near/30", Kind: "unknown", Result: "refused", Outcome: "Asked of platform: promote shop @all. Refused, since nobody knows who zulip:66 is."},
			}}, noon)
		},
		"audit-of-nothing": func(w io.Writer) { printAudit(w, flowclient.AuditPage{}, noon) },
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			write(&got)
			goldenfile.Compare(t, filepath.Join("..", "..", "fixtures", "golden", "cli", name+".txt"), got.String())
		})
	}
}
