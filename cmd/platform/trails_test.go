package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"platform.dev/platform/flowclient"
)

func TestTwoTrailsAreOneNewestFirst(t *testing.T) {
	trail := func(next string, refs ...string) (page flowclient.AuditPage) {
		for _, ref := range refs { // "e3" is of three minutes ago
			page.Entries = append(page.Entries, flowclient.AuditEntry{Ref: ref, At: *before(time.Duration(ref[1]-'0') * time.Minute)})
		}
		page.Next = next
		return page
	}
	for _, c := range []struct {
		name  string
		a, b  flowclient.AuditPage
		limit int
		want  []string
		more  bool
	}{
		{"in the order in which they were decided", trail("", "e1", "e4"), trail("", "d2", "d3"), 10, []string{"e1", "d2", "d3", "e4"}, false},
		{"the controller's first at one instant", trail("", "e1"), trail("", "d1"), 10, []string{"e1", "d1"}, false},
		{"no more than asked for", trail("", "e1", "e4"), trail("", "d2"), 2, []string{"e1", "d2"}, true},
		{"one goes on", trail("x", "e1"), trail("", "d2"), 2, []string{"e1", "d2"}, true},
		{"nothing", trail(""), trail(""), 2, nil, false},
	} {
		page := newest(c.a, c.b, c.limit)
		var refs []string
		for _, e := range page.Entries {
			refs = append(refs, e.Ref)
		}
		assert.Equal(t, c.want, refs, c.name)
		assert.Equal(t, c.more, page.Next != "", c.name)
	}
}
