package flowclient

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func spec(text string) Manifest { return Manifest{Spec: json.RawMessage(text)} }

func TestAManifestIsMergedWithWhatWasAppliedBefore(t *testing.T) {
	for name, c := range map[string]struct {
		kind             Kind
		last, want, live string
		merged           string
		changed          bool
	}{
		"a field is changed, the others stay":          {KindProject, `{"a":1}`, `{"a":2}`, `{"a":1,"b":1}`, `{"a":2,"b":1}`, true},
		"a field that is named no longer goes":         {KindProject, `{"a":1,"c":1}`, `{"a":1}`, `{"a":1,"b":1,"c":1}`, `{"a":1,"b":1}`, true},
		"a field that somebody else added stays":       {KindProject, `{"a":1}`, `{"a":1}`, `{"a":1,"c":1}`, `{"a":1,"c":1}`, false},
		"what somebody changed is changed back":        {KindProject, `{"a":1}`, `{"a":1}`, `{"a":9}`, `{"a":1}`, true},
		"fields within fields":                         {KindProject, `{"o":{"a":1,"c":1}}`, `{"o":{"a":2}}`, `{"o":{"a":1,"b":1,"c":1}}`, `{"o":{"a":2,"b":1}}`, true},
		"an object that is named no longer goes":       {KindProject, `{"o":{"a":1,"p":{"c":1}}}`, `{}`, `{"o":{"a":1,"p":{"c":1}},"b":1}`, `{"b":1}`, true},
		"what others set within it stays":              {KindProject, `{"o":{"a":1,"p":{"c":1}},"l":[1]}`, `{}`, `{"o":{"a":1,"b":1,"p":{"c":1,"d":1}},"l":[1,2]}`, `{"o":{"b":1,"p":{"d":1}}}`, true},
		"an emptied object keeps what others set":      {KindProject, `{"o":{}}`, `{}`, `{"o":{"b":1}}`, `{"o":{"b":1}}`, false},
		"a flat field goes, and its neighbours stay":   {KindComponent, `{"appPath":"a","imageName":"web"}`, `{"appPath":"a"}`, `{"workflow":{"name":"build","parameters":{"repository":{"url":"u","appPath":"a"},"imageName":"web"}}}`, `{"workflow":{"name":"build","parameters":{"repository":{"url":"u","appPath":"a"}}}}`, true},
		"the last flat field goes likewise":            {KindComponent, `{"appPath":"a"}`, `{}`, `{"workflow":{"name":"build","parameters":{"repository":{"url":"u","appPath":"a"}}}}`, `{"workflow":{"name":"build","parameters":{"repository":{"url":"u"}}}}`, true},
		"a list is the manifest's whole":               {KindProject, `{"l":[1]}`, `{"l":[2]}`, `{"l":[1,3]}`, `{"l":[2]}`, true},
		"an object where something else stood":         {KindProject, `{}`, `{"o":{"a":1}}`, `{"o":5}`, `{"o":{"a":1}}`, true},
		"it was never applied and is so already":       {KindProject, ``, `{"a":1}`, `{"a":1,"b":1}`, `{"a":1,"b":1}`, false},
		"large numbers stay as they are":               {KindProject, ``, `{"a":12345678901234567890}`, `{"a":1}`, `{"a":12345678901234567890}`, true},
		"the flat spelling of a component is nested":   {KindComponent, `{"appPath":"a"}`, `{"appPath":"b","imageName":"web"}`, `{"workflow":{"name":"build","parameters":{"repository":{"url":"u","appPath":"a"}}}}`, `{"workflow":{"name":"build","parameters":{"repository":{"url":"u","appPath":"b"},"imageName":"web"}}}`, true},
		"a flat repository and a flat path beside it":  {KindComponent, ``, `{"repository":{"url":"v"},"appPath":"b"}`, `{"workflow":{"parameters":{"repository":{"url":"u","revision":{"branch":"main"}}}}}`, `{"workflow":{"parameters":{"repository":{"url":"v","appPath":"b","revision":{"branch":"main"}}}}}`, true},
		"a field given twice is left to be refused":    {KindComponent, ``, `{"imageName":"a","workflow":{"parameters":{"imageName":"b"}}}`, `{}`, `{"imageName":"a","workflow":{"parameters":{"imageName":"b"}}}`, true},
		"the flat spelling of another kind is its own": {KindProject, ``, `{"appPath":"b"}`, `{}`, `{"appPath":"b"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			there := Object{Kind: c.kind, Spec: json.RawMessage(c.live)}
			next, changed, err := mergeManifest(AppliedManifest{Manifest: spec(c.last)}, spec(c.want), there)
			require.NoError(t, err)
			assert.Equal(t, c.changed, changed)
			if changed {
				assert.JSONEq(t, c.merged, string(next.Spec))
			}
		})
	}
}

func TestWhatAControlPlaneRespellsIsNotAppliedAgain(t *testing.T) {
	want := spec(`{"n":"1s"}`)
	live := Object{Kind: KindResource, Spec: json.RawMessage(`{"n":1000}`)}
	last := AppliedManifest{Manifest: want, Live: manifestOf(live)}
	_, changed, err := mergeManifest(last, want, live)
	require.NoError(t, err)
	assert.False(t, changed)
	live.Spec = json.RawMessage(`{"n":2000}`)
	_, changed, err = mergeManifest(last, want, live)
	require.NoError(t, err)
	assert.True(t, changed)
}

func TestMergingTwiceIsMergingOnceAndLosesNothingOfOthers(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) map[string]any {
		out := map[string]any{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.ID).Draw(t, "fields") {
			out[name] = rapid.SampledFrom([]any{"x", "y", true, map[string]any{"a": "x"}, map[string]any{"a": "y", "b": "z"}, []any{"x"}}).Draw(t, name)
		}
		return out
	})
	rapid.Check(t, func(t *rapid.T) {
		last, want, live := value.Draw(t, "last"), value.Draw(t, "want"), value.Draw(t, "live")
		once := mergeValue(last, want, live)
		require.Equal(t, once, mergeValue(last, want, once))
		require.Equal(t, once, mergeValue(want, want, once), "nothing is left to do when it is remembered")
		merged, ok := once.(map[string]any)
		require.True(t, ok)
		is, named, before := leaves(merged), leaves(want), leaves(last)
		for path, v := range leaves(live) {
			if !touches(named, path) && !touches(before, path) {
				require.Equal(t, v, is[path], "what the manifest never named stays: %s", path)
			}
		}
		for path := range before {
			if !touches(named, path) {
				require.NotContains(t, is, path, "what it names no longer goes")
			}
		}
	})
}

// leaves are the values of an object that are no objects with fields, by path.
func leaves(of map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range of {
		fields, isObject := v.(map[string]any)
		if !isObject || len(fields) == 0 {
			out["/"+name] = v
			continue
		}
		for path, leaf := range leaves(fields) {
			out["/"+name+path] = leaf
		}
	}
	return out
}

// touches tells whether a path is one of the leaves, holds one, or lies below one.
func touches(leaves map[string]any, path string) bool {
	for leaf := range leaves {
		if strings.HasPrefix(leaf+"/", path+"/") || strings.HasPrefix(path+"/", leaf+"/") {
			return true
		}
	}
	return false
}

func TestMarksAreMergedToo(t *testing.T) {
	there := Object{Kind: KindProject, Metadata: Metadata{Labels: map[string]string{"a": "1", "b": "1", "c": "1"}, Annotations: map[string]string{AnnotationDisplaced: "r"}}, Spec: json.RawMessage(`{}`)}
	last := AppliedManifest{Manifest: Manifest{Labels: map[string]string{"a": "1", "c": "1"}}}
	next, changed, err := mergeManifest(last, Manifest{Labels: map[string]string{"a": "2"}}, there)
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, map[string]string{"a": "2", "b": "1"}, next.Metadata.Labels)
	assert.Equal(t, map[string]string{AnnotationDisplaced: "r"}, next.Metadata.Annotations)
	assert.Equal(t, "1", there.Metadata.Labels["a"], "what was read is not changed")
}
