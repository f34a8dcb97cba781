package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// crowded is a controller with lists of many.
type crowded struct {
	*recorder
	n int
}

func (c crowded) Builds(context.Context) ([]flowclient.Build, error) {
	return numbered(c.n, func(i int) flowclient.Build {
		return flowclient.Build{Run: fmt.Sprintf("run-%03d", i), CreatedAt: noon.Add(time.Duration(i/2) * time.Nanosecond)} // two at an instant
	}), nil
}

func (c crowded) Reviews(context.Context) ([]flowclient.Review, error) {
	return numbered(c.n, func(i int) flowclient.Review {
		return flowclient.Review{Number: c.n - i, Line: int64(i * i), Active: noon}
	}), nil
}

func (c crowded) Locks(context.Context) ([]flowclient.Lock, error) {
	return numbered(c.n, func(i int) flowclient.Lock {
		return flowclient.Lock{ID: int64(i + 1), Component: "shop-web", Commit: sha, Who: "sre", Reason: "breaks", At: noon}
	}), nil
}

func (c crowded) Walkthroughs(context.Context) ([]flowclient.Walkthrough, error) {
	return numbered(c.n, func(i int) flowclient.Walkthrough { return flowclient.Walkthrough{ID: int64(c.n - i), Started: noon} }), nil
}

func numbered[T any](n int, item func(int) T) []T {
	var all []T
	for i := range n {
		all = append(all, item(i))
	}
	return all
}

// lists are the paths whose answers come in pages, with the field that holds the items.
var lists = map[string]string{wire.BuildsPath: "builds", wire.ReviewsPath: "reviews", wire.LocksPath: "locks", wire.FreezesPath: "freezes", wire.WalkthroughsPath: "walkthroughs"}

func TestListsComeInPages(t *testing.T) {
	for path, field := range lists {
		t.Run(path, func(t *testing.T) {
			s := newSurface(t)
			s.cfg.Flow = crowded{s.flow, 250}
			whole, _ := s.page(path+"?limit=500", field)
			require.Len(t, whole, 250)
			var read []string
			var sizes []int
			for query := ""; ; {
				items, next := s.page(path+query, field)
				read, sizes = append(read, items...), append(sizes, len(items))
				if next == "" {
					break
				}
				query = "?cursor=" + next
			}
			assert.Equal(t, []int{100, 100, 50}, sizes, "100 at a time where nothing is said")
			assert.Equal(t, whole, read)
			one, next := s.page(path+"?limit=250", field)
			assert.Equal(t, whole, one)
			assert.Empty(t, next, "nothing is behind the last")
		})
	}
}

// page asks for a page of a list; its items come as JSON.
func (s *surface) page(target, field string) (items []string, next string) {
	s.t.Helper()
	resp := s.do(write("GET", target, ""))
	require.Equal(s.t, http.StatusOK, resp.StatusCode)
	var answer map[string]json.RawMessage
	require.NoError(s.t, json.NewDecoder(resp.Body).Decode(&answer))
	var raw []json.RawMessage
	require.NoError(s.t, json.Unmarshal(answer[field], &raw))
	for _, item := range raw {
		items = append(items, string(item))
	}
	if answer["next"] != nil {
		require.NoError(s.t, json.Unmarshal(answer["next"], &next))
	}
	return items, next
}

func TestPagesThatAreNoneAreNamed(t *testing.T) {
	ofLocks := wire.Cursor(wire.LocksPath, ascending(7))
	for _, tc := range []struct{ query, field, says string }{
		{"limit=0", "limit", "from 1 to 500"},
		{"limit=501", "limit", "from 1 to 500"},
		{"limit=-1", "limit", "from 1 to 500"},
		{"limit=many", "limit", "from 1 to 500"},
		{"limit=", "limit", "from 1 to 500"},
		{"limit=1&limit=2", "limit", "given twice"},
		{"cursor=", "cursor", "no cursor of this list"},
		{"cursor=" + ofLocks[1:], "cursor", "no cursor of this list"},
		{"cursor=" + ofLocks + "=", "cursor", "no cursor of this list"},
		{"cursor=" + ofLocks, "cursor", "no cursor of this list"}, // of another list
		{"cursor=" + wire.Cursor(wire.BuildsPath, ""), "cursor", "no cursor of this list"},
		{"cursor=" + wire.Cursor(wire.BuildsPath, strings.Repeat("x", 1000)), "cursor", "no cursor of this list"},
		{"offset=3", "offset", "its parameters are limit, cursor"},
	} {
		t.Run(tc.query[:min(40, len(tc.query))], func(t *testing.T) {
			s := newSurface(t)
			resp := s.do(write("GET", "/builds?"+tc.query, ""))
			var refused wire.Error
			require.NoError(t, json.NewDecoder(resp.Body).Decode(&refused))
			assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
			assert.Equal(t, tc.field, refused.Field)
			assert.Contains(t, refused.Why, tc.says)
			assert.Empty(t, s.flow.calls)
		})
	}
}

func TestALongListSaysToAScriptThatItGoesOn(t *testing.T) {
	s := newSurface(t)
	s.cfg.Flow = crowded{s.flow, 3}
	resp := s.do(write("GET", "/locks?limit=2", "").with("Accept", "text/plain"))
	lines := strings.Split(strings.TrimSpace(body(t, resp)), "\n")
	require.Len(t, lines, 3)
	assert.Equal(t, "there are more: ask again with ?cursor="+wire.Cursor(wire.LocksPath, ascending(2)), lines[2])
}

// TestAListThatChangesBetweenItsPagesIsNotMissed reads a list page by page
// while items come and go: what is there all the time is told once and in its
// order, and nothing twice.
func TestAListThatChangesBetweenItsPagesIsNotMissed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.Int64Range(0, 200), 0, 60, rapid.ID).Draw(t, "ids")
		slices.Sort(ids)
		steady := slices.Clone(ids)
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		place := func(id int64) string { return ascending(id) }
		var read []int64
		for after := ""; ; {
			items, next := part("/list", wire.Page{Limit: limit, After: after}, ids, place)
			if len(items) > limit {
				t.Fatalf("%d items of at most %d", len(items), limit)
			}
			read = append(read, items...)
			if next == "" {
				break
			}
			p, err := wire.PageOf("/list", map[string]string{"cursor": next})
			if err != nil {
				t.Fatal(err)
			}
			after = p.After
			gone := rapid.SliceOfN(rapid.Int64Range(0, 200), 0, 5).Draw(t, "gone") // the last that was told among them
			ids = slices.DeleteFunc(ids, func(id int64) bool { return slices.Contains(gone, id) })
			steady = slices.DeleteFunc(steady, func(id int64) bool { return slices.Contains(gone, id) && !slices.Contains(read, id) })
			ids = append(ids, rapid.SliceOfN(rapid.Int64Range(0, 200), 0, 5).Draw(t, "new")...)
			slices.Sort(ids)
			ids = slices.Compact(ids)
		}
		if !slices.IsSorted(read) || len(slices.Compact(slices.Clone(read))) != len(read) {
			t.Fatalf("out of order, or twice: %v", read)
		}
		for _, id := range steady {
			if !slices.Contains(read, id) {
				t.Fatalf("%d was there all the time: %v", id, read)
			}
		}
	})
}

// TestPlacesSortAsListsDo compares places with the orders that the controller promises.
func TestPlacesSortAsListsDo(t *testing.T) {
	builds, _ := crowded{n: 50}.Builds(t.Context())
	reviews, _ := crowded{n: 50}.Reviews(t.Context())
	locks, _ := crowded{n: 50}.Locks(t.Context())
	walkthroughs, _ := crowded{n: 50}.Walkthroughs(t.Context())
	inOrder(t, builds, placeOfBuild)
	inOrder(t, reviews, placeOfReview)
	inOrder(t, locks, placeOfLock)
	inOrder(t, walkthroughs, placeOfWalkthrough)
	late := flowclient.Build{Run: "a", CreatedAt: noon.In(time.FixedZone("west", -8*3600)).Add(time.Second)}
	inOrder(t, []flowclient.Build{{Run: "b", CreatedAt: noon}, late}, placeOfBuild)
}

func inOrder[T any](t *testing.T, items []T, place func(T) string) {
	t.Helper()
	for i := 1; i < len(items); i++ {
		assert.Less(t, place(items[i-1]), place(items[i]))
	}
}
