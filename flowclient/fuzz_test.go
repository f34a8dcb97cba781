package flowclient

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzManifests: whatever a repository holds is read as manifests or told why
// not, within bounds, and twice alike.
func FuzzManifests(f *testing.F) {
	for _, seed := range []string{
		"kind: Project\nmetadata:\n  name: shop\n  annotations:\n    project-flow.platform.dev/soak: 7m\n",
		"kind: Component\nmetadata: {name: shop-web}\nspec: {appPath: '', repository: {url: u, appPath: /}}\n---\nkind: Resource\nmetadata: {name: db}\n",
		"---\n---\n", "a: &a [*a]\n", "kind: [Project]\n", "1: 2\n", "? {a: b}\n: c\n", "kind: Project\nspec: .inf\n", "!!binary x\n", "\x00", "kind: Project\nmetadata: {name: \"\\ud800\"}\n",
		"apiVersion: openchoreo.dev/v1alpha1\nkind: Project\nmetadata: {name: shop, labels: {a: 1}}\n", "x: 0x7fffffffffffffffffff\n", "<<: {a: b}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		all, err := readManifests(map[string]string{"a.yaml": content})
		again, errAgain := readManifests(map[string]string{"a.yaml": content})
		require.Equal(t, err, errAgain)
		require.True(t, reflect.DeepEqual(all, again))
		if err != nil {
			var refusal *Refusal
			require.ErrorAs(t, err, &refusal)
			return
		}
		require.LessOrEqual(t, len(all), maxManifests)
		for i, m := range all {
			require.Equal(t, "a.yaml", m.File)
			require.LessOrEqual(t, len(m.Why), 1000)
			if i > 0 {
				require.LessOrEqual(t, applyRank(Kind(all[i-1].Kind)), applyRank(Kind(m.Kind)))
			}
			own := ownership{repo: "platform/shop", projects: []string{"shop"}}
			if m.Why == "" && own.refuses(m, "default", nil) == "" {
				require.NoError(t, checkLabel("metadata.name", m.Name, maxLabel), "what is applied has a name")
				require.Contains(t, []Kind{KindProject, KindComponent, KindResource}, Kind(m.Kind))
			}
		}
	})
}

// FuzzMergeManifest: applying twice is applying once, and what no manifest
// named stays as it is.
func FuzzMergeManifest(f *testing.F) {
	for _, seed := range [][3]string{
		{`{"a":1}`, `{"a":2}`, `{"a":1,"b":{"c":[]}}`}, {`{}`, `{"repository":{"url":"u"}}`, `{"workflow":{"parameters":{"repository":{"url":"v"}}}}`},
		{`{"a":{"b":1}}`, `{"a":{}}`, `{"a":{"b":1,"c":2}}`}, {``, `null`, `[]`}, {`{"a":null}`, `{"a":1e400}`, `{"a":"1e400"}`}, {`{`, `{}`, `x`},
		{`{"appPath":""}`, `{"appPath":"/","repository":{"appPath":"/"}}`, `{"workflow":[]}`},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, last, want, live string) {
		for _, kind := range []Kind{KindProject, KindComponent} {
			mergesOnce(t, kind, json.RawMessage(last), json.RawMessage(want), json.RawMessage(live))
		}
	})
}

func mergesOnce(t *testing.T, kind Kind, last, want, live json.RawMessage) {
	for _, spec := range []json.RawMessage{last, want, live} {
		if len(spec) > 0 && !json.Valid(spec) {
			return // it is read from YAML or from the control plane, and written as JSON
		}
	}
	manifest := Manifest{Labels: map[string]string{"a": "1"}, Spec: want}
	there := Object{Kind: kind, Metadata: Metadata{Name: "x", Labels: map[string]string{"b": "2"}}, Spec: live}
	next, changed, err := mergeManifest(AppliedManifest{Manifest: Manifest{Spec: last}}, manifest, there)
	require.NoError(t, err)
	if !changed {
		return
	}
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, next.Metadata.Labels)
	require.True(t, json.Valid(next.Spec))
	_, again, err := mergeManifest(AppliedManifest{Manifest: manifest, Live: manifestOf(next)}, manifest, next)
	require.NoError(t, err)
	require.False(t, again, "%s over %s after %s", want, live, last)
	after, _, err := mergeManifest(AppliedManifest{Manifest: manifest}, manifest, next) // the record of what was written there is lost
	require.NoError(t, err)
	same, err := sameManifests([2]Manifest{manifestOf(after), manifestOf(next)})
	require.NoError(t, err)
	require.True(t, same, "%s over %s after %s", want, live, last)
	var was, is, named map[string]any
	if json.Unmarshal(live, &was) != nil || json.Unmarshal(next.Spec, &is) != nil || kind != KindProject || json.Unmarshal(want, &named) != nil || named == nil {
		return // one of them is no object: the manifest's is the whole
	}
	var before map[string]any
	_ = json.Unmarshal(last, &before) // what was no object named nothing
	for name, value := range was {
		_, now := named[name]
		if _, then := before[name]; !now && !then {
			require.Equal(t, value, is[name], "a field of somebody else's")
		}
	}
}

// FuzzSoak: a text is a duration that is waited for to the nanosecond, or
// nothing passes by itself; a person's promotion waits as well.
func FuzzSoak(f *testing.F) {
	for _, seed := range []string{"", "5m", "0", "0s", "-1s", "1h30m", "soon", "1e9s", "9223372036854775807ns", "106751d", "+5m", "1.5h", "5 m", "∞", "5µs"} {
		f.Add(seed, int64(5*time.Minute))
	}
	f.Fuzz(func(t *testing.T, text string, waited int64) {
		now := friday
		c := candidate{Project: "shop", Component: "shop-web", Target: release{Name: "shop-web-2", Of: "shop-web"}, Soak: text, Default: time.Minute, Since: now.Add(-time.Duration(waited))}
		v := soakGate(question{Project: "shop"}.about(c), now)
		require.NotEmpty(t, v.Sentence)
		require.LessOrEqual(t, len(v.Sentence), 1000)
		soak, err := time.ParseDuration(text)
		if text == "" {
			soak, err = time.Minute, nil
		}
		if err != nil || soak < 0 {
			require.False(t, v.Pass, "what cannot be read lets nothing pass")
			require.Nil(t, v.Flips)
			return
		}
		require.Equal(t, soak == 0 || now.Sub(c.Since) >= soak, v.Pass)
		if v.Flips != nil {
			require.Equal(t, c.Since.Add(soak), *v.Flips)
			require.True(t, soakGate(question{Project: "shop"}.about(c), *v.Flips).Pass, "it passes from then on")
		}
	})
}
