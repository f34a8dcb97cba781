package controlplane

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
)

// names are few and short, so that joined ones meet often.
var names = rapid.StringMatching(`[ab](-[ab]){0,3}`)

func TestAClashIsFoundExactlyWhenAJoinedNameMeansTwoThings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ends := rapid.SliceOfNDistinct(names, 1, 4, rapid.ID[string]).Draw(t, "environments")
		heads := rapid.SliceOfNDistinct(names, 0, 4, rapid.ID[string]).Draw(t, "components")
		name := names.Filter(func(n string) bool {
			for _, h := range heads {
				if h == n {
					return false
				}
			}
			return true
		}).Draw(t, "new component")
		clashes := false
		for _, end := range ends {
			for _, head := range heads {
				for _, other := range ends {
					clashes = clashes || name+"-"+end == head+"-"+other
				}
			}
		}
		head, tail, joined, err := clashAfter(name, ends, func(h string) (bool, error) {
			for _, there := range heads {
				if there == h {
					return true, nil
				}
			}
			return false, nil
		})
		require.NoError(t, err)
		assert.Equal(t, clashes, head != "")
		if head != "" {
			assert.Equal(t, joined, head+"-"+tail)
		}
	})
}

func TestTouches(t *testing.T) {
	cases := []struct {
		appPath string
		files   string
		want    bool
	}{
		{"", "README.md", true}, {"", "", true}, {"/", "README.md", false}, {"/", "", true}, {"//", "x", false},
		{".", "x", false}, {"./svc", "svc/x", false}, {"svc", "svc/x", true}, {"/svc/", "svc/x", true}, {"//svc", "svc/x", false},
		{"svc", "svc", true}, {"svc", "svc2/x", false}, {"svc", "a/svc/x", false}, {"svc/web", "svc/x", false}, {"svc", "README.md svc/x", true}, {"SVC", "svc/x", false},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, touches(c.appPath, strings.Fields(c.files)), "%q touched by %q", c.appPath, c.files)
	}
}

func TestAFoldedAddressFoldsToItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.StringMatching(`[a-zA-Z]{1,5}(\.[a-z]{2,3})?`).Draw(t, "host")
		path := rapid.StringMatching(`[a-zA-Z0-9]{1,4}(/[a-zA-Z0-9]{1,4}){1,2}`).Draw(t, "path")
		want := strings.ToLower("https://" + host + "/" + path)
		for _, spelling := range []string{
			"https://" + host + "/" + path, "https://" + host + "/" + path + ".git", "https://me:pw@" + host + "/" + path + "/",
			"git@" + host + ":" + path + ".git", "ssh://git@" + host + ":22/" + path, "HTTPS://" + strings.ToUpper(host) + "/" + path + ".GIT",
		} {
			folded := foldURL(spelling)
			assert.Equal(t, want, folded, spelling)
			assert.Equal(t, folded, foldURL(folded))
		}
	})
}

func TestAReleaseIsNamedByItsContentAndNotByTheRegistry(t *testing.T) {
	hash := func(workload string) string {
		h, err := releaseContent{ComponentType: frozenType{Kind: "k", Name: "n", Spec: json.RawMessage(`{"a":1}`)}, Workload: json.RawMessage(workload)}.hash()
		require.NoError(t, err)
		return h
	}
	first := hash(`{"container":{"image":"127.0.0.1:10082/shop/web@sha256:aa"}}`)
	for _, same := range []string{"127.0.0.1:4711/shop/web@sha256:aa", "localhost/shop/web@sha256:aa", "registry.example.com/shop/web@sha256:aa", "shop/web@sha256:aa"} {
		assert.Equal(t, first, hash(`{"container":{"image":"`+same+`"}}`), same)
	}
	for _, other := range []string{"127.0.0.1:10082/shop/web@sha256:ab", "127.0.0.1:10082/shop2/web@sha256:aa"} {
		assert.NotEqual(t, first, hash(`{"container":{"image":"`+other+`"}}`), other)
	}
	assert.NotEqual(t, first, hash(`{"container":{"image":"shop/web@sha256:aa","args":["x"]}}`))
	assert.Equal(t, hash(`{"a":1,"b":2}`), hash(`{ "b":2, "a":1 }`), "spelling is no content")
}

func TestReadressingMatchesWholePrefixes(t *testing.T) {
	moved := map[string]string{"127.0.0.1:10": "127.0.0.1:20"}
	for in, want := range map[string]string{
		`"127.0.0.1:10/a"`: `"127.0.0.1:20/a"`, `"127.0.0.1:10"`: `"127.0.0.1:20"`, `"127.0.0.1:100/a"`: `"127.0.0.1:100/a"`,
		`"x 127.0.0.1:10/a"`: `"x 127.0.0.1:10/a"`, `{"127.0.0.1:10":["127.0.0.1:10/b",7]}`: `{"127.0.0.1:10":["127.0.0.1:20/b",7]}`, ``: ``,
	} {
		got, err := readdress(json.RawMessage(in), moved)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
}

func TestTheQueueWorksOnAKeyOnceAtATimeAndLosesNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue()
		keys := []key{{flowclient.KindProject, "a"}, {flowclient.KindProject, "b"}, {flowclient.KindProject, "c"}}
		owed := map[key]bool{}    // added since it was last taken
		working := map[key]bool{} // taken and not done
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				k := rapid.SampledFrom(keys).Draw(t, "key")
				q.add(k)
				owed[k] = true
			},
			"take": func(t *rapid.T) {
				free := 0
				for k := range owed {
					if !working[k] {
						free++
					}
				}
				if free == 0 {
					t.Skip("take would wait")
				}
				k, ok := q.take()
				require.True(t, ok)
				require.False(t, working[k], "two at once on %v", k)
				require.True(t, owed[k])
				delete(owed, k)
				working[k] = true
			},
			"done": func(t *rapid.T) {
				for _, k := range keys {
					if working[k] {
						q.done(k, false)
						delete(working, k)
						return
					}
				}
				t.Skip("nobody works")
			},
			"": func(t *rapid.T) {
				free := 0
				for k := range owed {
					if !working[k] {
						free++
					}
				}
				require.Len(t, q.order, free, "each owed key that nobody works on waits exactly once")
			},
		})
		q.close()
		_, ok := q.take()
		require.False(t, ok)
	})
}

func TestAFailedKeyIsTriedAgainLaterEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		k := key{flowclient.KindProject, "a"}
		q.add(k)
		var waits []time.Duration
		for range 10 {
			at := time.Now()
			_, ok := q.take()
			require.True(t, ok)
			waits = append(waits, time.Since(at))
			q.done(k, true)
		}
		assert.Equal(t, []time.Duration{0, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond}, waits[:4])
		assert.Equal(t, longestRetry, waits[9])
		_, _ = q.take()
		q.done(k, false)
		q.add(k)
		_, _ = q.take()
		q.done(k, true)
		at := time.Now()
		_, _ = q.take()
		assert.Equal(t, firstRetry, time.Since(at), "a success starts the waits over")
		q.close()
	})
}

func TestEveryKindIsARow(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range kinds() {
		assert.False(t, seen[k.path], k.path)
		seen[k.path] = true
		assert.NotNil(t, k.spec, k.name)
		for _, o := range k.owners {
			found := false
			for _, r := range k.refs {
				found = found || r.field == ownerFields[o].ref
			}
			assert.True(t, found, "%s must name its %s", k.name, o)
		}
	}
}
