package flowtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// Standings is the contract of flowclient.Standings, and of what settling an
// intent holds and lifts. open is as for Journal.
func Standings(t *testing.T, open func(t *testing.T) (m Memory, reopen func() Memory)) {
	for name, test := range map[string]func(t *testing.T, m Memory, reopen func() Memory){
		"a component is held once, by the newest":      heldOnce,
		"a hold is lifted for the release that it has": liftedForItsRelease,
		"settling twice holds and lifts nothing more":  holdsSettledOnce,
		"a backoff lasts until its instant":            backoffsEnd,
		"an episode is told when it begins":            episodesTold,
		"an episode that ended begins anew":            episodesAgain,
		"episodes of another project are left alone":   episodesApart,
	} {
		t.Run(name, func(t *testing.T) {
			m, reopen := open(t)
			test(t, m, reopen)
		})
	}
}

func holdOf(component, release string, at time.Time) flowclient.Hold {
	return flowclient.Hold{Project: "shop", Component: component, Release: release, Who: "sre", At: at.UTC()}
}

// settling settles a new intent with what it holds and lifts.
func settling(t *testing.T, m Memory, key string, s flowclient.Settlement) flowclient.Intent {
	t.Helper()
	in, _, err := m.Begin(t.Context(), intent(key))
	require.NoError(t, err)
	s.Outcome, s.At = json.RawMessage(`{}`), noon
	require.NoError(t, m.Settle(t.Context(), in.ID, s))
	return in
}

func heldOnce(t *testing.T, m Memory, reopen func() Memory) {
	settling(t, m, "a", flowclient.Settlement{Hold: []flowclient.Hold{holdOf("shop-web", "r1", noon), holdOf("shop-api", "r1", noon)}})
	newest := holdOf("shop-web", "r2", noon.Add(time.Minute))
	settling(t, m, "b", flowclient.Settlement{Hold: []flowclient.Hold{newest}})
	holds, err := reopen().Holds(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Hold{holdOf("shop-api", "r1", noon), newest}, holds)
	settling(t, m, "c", flowclient.Settlement{Lift: []string{"shop-web", "unknown"}})
	holds, err = m.Holds(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Hold{holdOf("shop-api", "r1", noon)}, holds)
}

func liftedForItsRelease(t *testing.T, m Memory, reopen func() Memory) {
	settling(t, m, "a", flowclient.Settlement{Hold: []flowclient.Hold{holdOf("shop-web", "r2", noon)}})
	require.NoError(t, m.LiftHold(t.Context(), "shop-web", "r1"))
	holds, err := m.Holds(t.Context())
	require.NoError(t, err)
	require.Len(t, holds, 1, "another rollback came between")
	require.NoError(t, m.LiftHold(t.Context(), "shop-web", "r2"))
	require.NoError(t, m.LiftHold(t.Context(), "shop-web", "r2"))
	holds, err = reopen().Holds(t.Context())
	require.NoError(t, err)
	assert.Empty(t, holds)
}

func holdsSettledOnce(t *testing.T, m Memory, _ func() Memory) {
	in := settling(t, m, "a", flowclient.Settlement{Hold: []flowclient.Hold{holdOf("shop-web", "r1", noon)}})
	require.NoError(t, m.Settle(t.Context(), in.ID, flowclient.Settlement{Outcome: json.RawMessage(`{}`), At: noon, Lift: []string{"shop-web"}, Hold: []flowclient.Hold{holdOf("shop-api", "r1", noon)}}))
	holds, err := m.Holds(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Hold{holdOf("shop-web", "r1", noon)}, holds)
}

func backoffsEnd(t *testing.T, m Memory, reopen func() Memory) {
	until := noon.Add(10 * time.Minute).UTC()
	backoffs := []flowclient.Backoff{{Component: "shop-web", Until: until}, {Component: "shop-api", Until: until.Add(time.Minute)}}
	_, err := m.Stand(t.Context(), "shop", nil, backoffs, noon)
	require.NoError(t, err)
	m = reopen()
	_, err = m.Stand(t.Context(), "shop", nil, nil, noon.Add(time.Minute))
	require.NoError(t, err, "what was not asked about again keeps its backoff")
	now, err := m.Backoffs(t.Context(), until.Add(-1))
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Backoff{backoffs[1], backoffs[0]}, now, "by component")
	now, err = m.Backoffs(t.Context(), until)
	require.NoError(t, err)
	assert.Equal(t, backoffs[1:], now)
	later := flowclient.Backoff{Component: "shop-api", Until: until.Add(time.Hour)}
	_, err = m.Stand(t.Context(), "shop", nil, []flowclient.Backoff{later}, until)
	require.NoError(t, err)
	now, err = m.Backoffs(t.Context(), until)
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Backoff{later}, now)
	settling(t, m, "promoted", flowclient.Settlement{Lift: []string{"shop-api"}})
	now, err = m.Backoffs(t.Context(), until)
	require.NoError(t, err)
	assert.Empty(t, now, "what was promoted is refused no longer")
}

// stretch is an episode whose event has the key.
func stretch(subject, cause, fingerprint, key string) flowclient.Episode {
	e := flowclient.Episode{Project: "shop", Subject: subject, Cause: cause, Fingerprint: fingerprint}
	if key != "" {
		told := happened(key)
		e.Event = &told
	}
	return e
}

// lasts is how an episode is listed.
func lasts(e flowclient.Episode, since time.Time) flowclient.Episode {
	e.Since, e.Event = since.UTC(), nil
	return e
}

func told(t *testing.T, m Memory) (keys []string) {
	t.Helper()
	events, err := m.Events(t.Context(), 0, 100)
	require.NoError(t, err)
	for _, e := range events {
		keys = append(keys, e.Key)
	}
	return keys
}

func episodesTold(t *testing.T, m Memory, reopen func() Memory) {
	parked, locked := stretch("shop-api,shop-web", "window", "1", "parked"), stretch("shop-cron", "lock", "1", "")
	last, err := m.Stand(t.Context(), "shop", []flowclient.Episode{locked, parked}, nil, noon)
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Episode{lasts(locked, noon), lasts(parked, noon)}, last)
	m = reopen()
	again := parked
	other := happened("parked again")
	again.Event = &other
	last, err = m.Stand(t.Context(), "shop", []flowclient.Episode{again}, nil, noon.Add(time.Hour))
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Episode{lasts(parked, noon)}, last, "it lasts since it began, also over a restart")
	listed, err := m.Episodes(t.Context(), "shop")
	require.NoError(t, err)
	assert.Equal(t, last, listed)
	assert.Equal(t, []string{"parked"}, told(t, m))
}

func episodesAgain(t *testing.T, m Memory, _ func() Memory) {
	for i, fingerprint := range []string{"1", "2", "1", "1"} {
		e := stretch("shop-web", "window", fingerprint, "parked "+string(rune('a'+i)))
		_, err := m.Stand(t.Context(), "shop", []flowclient.Episode{e}, nil, noon.Add(time.Duration(i)*time.Minute))
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"parked a", "parked b", "parked c"}, told(t, m))
	_, err := m.Stand(t.Context(), "shop", nil, nil, noon.Add(time.Hour))
	require.NoError(t, err)
	listed, err := m.Episodes(t.Context(), "")
	require.NoError(t, err)
	assert.Empty(t, listed)
	_, err = m.Stand(t.Context(), "shop", []flowclient.Episode{stretch("shop-web", "window", "1", "parked e")}, nil, noon.Add(time.Hour))
	require.NoError(t, err)
	assert.Len(t, told(t, m), 4)
}

func episodesApart(t *testing.T, m Memory, _ func() Memory) {
	shop, blog := stretch("shop-web", "window", "1", ""), stretch("blog-web", "window", "1", "")
	blog.Project = "blog"
	for project, e := range map[string]flowclient.Episode{"shop": shop, "blog": blog} {
		_, err := m.Stand(t.Context(), project, []flowclient.Episode{e}, nil, noon)
		require.NoError(t, err)
	}
	all, err := m.Episodes(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Episode{lasts(blog, noon), lasts(shop, noon)}, all, "by project")
	_, err = m.Stand(t.Context(), "shop", nil, nil, noon)
	require.NoError(t, err)
	all, err = m.Episodes(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Episode{lasts(blog, noon)}, all)
}
