package chat_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatIsNotHereIsSaidPlainly(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann")
	w.stream("general", ann)
	for path, want := range map[string]string{"/users/me/alert_words": "alert_words", "/realm/linkifiers": "linkifiers", "/realm/filters": "filters",
		"/realm/profile_fields": "custom_fields", "/attachments": "attachments"} {
		if path == "/realm/filters" { // the older name, which the description has no more
			assert.Empty(t, (&actor{User: ann.User, w: w.unchecked()}).ok("GET", path, nil)[want])
			continue
		}
		assert.Equal(t, []any{}, ann.ok("GET", path, nil)[want], path)
	}
	assert.Equal(t, map[string]any{}, ann.ok("GET", "/users/1/status", nil)["status"])
	assert.Empty(t, ann.ok("GET", "/realm/presence", nil)["presences"])
	assert.Len(t, ann.ok("GET", "/user_groups", nil)["user_groups"], 6)
	assert.Equal(t, true, ann.ok("GET", "/users/1/subscriptions/1", nil)["is_subscribed"])
	for _, c := range []struct {
		status             int
		method, path, says string
	}{
		{400, "GET", "/users/1/presence", "No presence data"}, {400, "POST", "/users/me/status", "no statuses"}, {400, "GET", "/users/9/status", "No such user"},
		{400, "GET", "/users/9/subscriptions/1", "No such user"}, {400, "GET", "/users/1/subscriptions/9", "channel ID"}, {404, "GET", "/users/1/friends/1", "Not found"},
	} {
		assert.Contains(t, ann.fails(c.status, "BAD_REQUEST", c.method, c.path, nil)["msg"], c.says, c.path)
	}
}
