package chat_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/chat"
)

func TestEveryChangeIsCommittedBeforeItIsAnswered(t *testing.T) {
	var mu sync.Mutex
	var written []string
	w := open(t, filepath.Join(t.TempDir(), "chat.db"), func(c *chat.Config) {
		c.Committed = func(file, op string) {
			mu.Lock()
			defer mu.Unlock()
			written = append(written, file+"/"+op)
		}
	})
	take := func() []string {
		mu.Lock()
		defer mu.Unlock()
		got := written
		written = nil
		return got
	}
	ann := w.person("Ann")
	assert.Equal(t, []string{"chat/user"}, take())
	w.stream("general", ann)
	assert.Equal(t, []string{"chat/subscription"}, take())
	sent := ann.post("general", "t", "hello")
	assert.Equal(t, []string{"chat/message"}, take())
	path := "/messages/" + itoa(sent)
	for _, c := range []struct {
		op, method, path string
		form             form
	}{
		{"edit", "PATCH", path, form{"content": "bye"}},
		{"reaction", "POST", path + "/reactions", form{"emoji_name": "tada"}},
		{"reaction", "DELETE", path + "/reactions", form{"emoji_name": "tada"}},
		{"flags", "POST", "/messages/flags", form{"messages": []int64{sent}, "op": "add", "flag": "read"}},
		{"subscription", "DELETE", "/users/me/subscriptions", form{"subscriptions": []string{"general"}}},
	} {
		ann.ok(c.method, c.path, c.form)
		assert.Equal(t, []string{"chat/" + c.op}, take(), "%s %s", c.method, c.path)
	}
	ann.fails(400, "REACTION_DOES_NOT_EXIST", "DELETE", path+"/reactions", form{"emoji_name": "tada"})
	ann.ok("GET", "/messages", form{"anchor": "newest", "num_before": 1, "num_after": 0})
	ann.register(nil)
	assert.Empty(t, take(), "what fails or reads writes nothing")
}

func TestKeysStayInTheFileOfTheirOwner(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	w := open(t, filepath.Join(dir, "chat.db"), func(c *chat.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	ann := w.person("Ann")
	ann.ok("GET", "/users/me", nil)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), f.Name())
	}
	w.stop()
	assert.NotContains(t, log.String(), ann.APIKey)
	assert.Len(t, ann.APIKey, 32)
}

func TestConfigurationIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chat.db")
	for name, cfg := range map[string]chat.Config{
		"no path":          {URL: site},
		"no address":       {Path: path},
		"a relative one":   {Path: path, URL: "chat.test"},
		"a negative limit": {Path: path, URL: site, RateLimit: -1},
		"a path elsewhere": {Path: filepath.Join(t.TempDir(), "missing", "chat.db"), URL: site},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := chat.New(t.Context(), cfg)
			assert.Error(t, err)
		})
	}
}

func TestTheSameAccountMadeAtOnceIsOne(t *testing.T) {
	w := fresh(t)
	users := make([]chat.User, 8)
	var wg sync.WaitGroup
	for n := range users {
		wg.Go(func() {
			var err error
			users[n], err = w.server.EnsureUser(t.Context(), chat.NewUser{Email: "Ann@chat.test", FullName: "Ann"})
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	for _, u := range users {
		assert.Equal(t, users[0], u)
	}
	assert.NotEmpty(t, users[0].APIKey)
}
