package controlplane_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures/goldenfile"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/controlplane"
)

// scrubbed are the parts of an answer that differ from run to run.
var scrubbed = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`-run-[0-9a-f]{8}`), "-run-<hex>"},
}

// golden compares text with a file, or rewrites it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "..", "fixtures", "golden", "controlplane", name)
	for _, s := range scrubbed {
		got = s.pattern.ReplaceAll(got, []byte(s.with))
	}
	goldenfile.Compare(t, path, string(got))
}

func TestObjectsAfterADeliveryLookLikeThis(t *testing.T) {
	at := time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)
	w := newWorld(t, func(c *controlplane.Config) { c.Now = func() time.Time { return at } })
	w.delivered()
	w.eventually(flowclient.KindComponent, "shop-web", ready)
	var all bytes.Buffer
	for _, path := range []string{"projects/shop", "components/shop-web", "workloads/shop-web", "releasebindings/shop-web-staging", "projectreleasebindings/shop-staging", "workflowruns", "componentreleases"} {
		got := w.request("GET", "/api/v1/namespaces/default/"+path, "")
		require.Equal(t, 200, got.status)
		all.WriteString("GET " + path + "\n")
		require.NoError(t, json.Indent(&all, []byte(got.body), "", "  "))
		all.WriteString("\n")
	}
	golden(t, "delivered.txt", all.Bytes())
}

func TestThePublishedDocumentNamesThesePaths(t *testing.T) {
	w := newWorld(t)
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(w.request("GET", "/openapi.json", "").body), &doc))
	var lines []string
	for path, item := range doc.Paths {
		for verb := range item {
			if verb != "parameters" {
				lines = append(lines, path+" "+strings.ToUpper(verb))
			}
		}
	}
	slices.Sort(lines)
	golden(t, "paths.txt", []byte(strings.Join(lines, "\n")+"\n"))
}
