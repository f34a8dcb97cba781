package bots_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
)

const (
	both = "people:\n  - {chat: 'test:10', persona: admin, groups: [admins]}\n  - {chat: 'test:11', persona: developer}\n"
	one  = "people:\n  - {chat: 'test:11', persona: developer}\n"
)

// register is a file of people, looked at by a clock of its own.
type register struct {
	t    *testing.T
	path string
	now  time.Time
	log  bytes.Buffer
	*bots.PeopleFile
}

func newRegister(t *testing.T, text string) *register {
	t.Helper()
	r := &register{t: t, path: filepath.Join(t.TempDir(), "people.yaml"), now: time.Now()}
	r.write(text)
	var err error
	r.PeopleFile, err = bots.OpenPeople(r.path, func() time.Time { return r.now }, slog.New(slog.NewTextHandler(&r.log, nil)))
	require.NoError(t, err)
	return r
}

// write writes the file as an operator does, at whatever instant of the file system's clock.
func (r *register) write(text string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(r.path, []byte(text), 0o600))
}

// knows tells whether somebody is known a second later.
func (r *register) knows(id string) bool {
	r.now = r.now.Add(time.Second)
	_, known := r.Person(r.t.Context(), "test:"+id)
	return known
}

func TestWhoIsTakenOutOfTheFileIsUnknownWithinASecond(t *testing.T) {
	r := newRegister(t, both)
	assert.True(t, r.knows("10"))
	r.write(one)
	_, known := r.Person(t.Context(), "test:10")
	assert.True(t, known, "the file is looked at once a second, and no more often")
	assert.False(t, r.knows("10"))
	assert.True(t, r.knows("11"))
	r.write(both)
	assert.True(t, r.knows("10"), "and who is put in is known")
	require.NoError(t, r.Health())
	assert.Equal(t, 2, strings.Count(r.log.String(), "people are read anew"))
}

func TestAFileThatIsWrongChangesNothingAndIsToldOfOnce(t *testing.T) {
	for name, spoil := range map[string]func(r *register){
		"nonsense":       func(r *register) { r.write("people: [{chat: ten}]\n") },
		"unknown fields": func(r *register) { r.write("persons: []\n") },
		"empty":          func(r *register) { r.write("") },
		"gone":           func(r *register) { require.NoError(r.t, os.Remove(r.path)) },
		"a directory": func(r *register) {
			require.NoError(r.t, os.Remove(r.path))
			require.NoError(r.t, os.Mkdir(r.path, 0o700))
		},
		"too large": func(r *register) { r.write(both + strings.Repeat("#", 2<<20)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegister(t, both)
			spoil(r)
			for range 5 {
				assert.True(t, r.knows("10"), "the last good one holds")
				require.ErrorContains(t, r.Health(), r.path)
			}
			assert.Equal(t, 1, strings.Count(r.log.String(), "level=ERROR"), r.log.String())
			require.NoError(t, os.RemoveAll(r.path))
			r.write(one)
			assert.False(t, r.knows("10"), "mended, it holds")
			require.NoError(t, r.Health())
			r.write(both)
			assert.True(t, r.knows("10"))
			spoil(r)
			r.knows("10")
			require.NoError(t, os.RemoveAll(r.path))
			r.write(both) // as it was before it was spoilt
			assert.True(t, r.knows("10"))
			require.NoError(t, r.Health())
			assert.Equal(t, 2, strings.Count(r.log.String(), "level=ERROR"), r.log.String())
		})
	}
}

// A change that leaves size and time as they were is seen by its bytes, as long
// as the time tells that there may be one.
func TestAChangeWithinATickOfTheFileSystemIsSeen(t *testing.T) {
	r := newRegister(t, both)
	info, err := os.Stat(r.path)
	require.NoError(t, err)
	require.True(t, r.knows("10"))
	r.write(strings.ReplaceAll(both, "test:10", "test:12"))
	require.NoError(t, os.Chtimes(r.path, info.ModTime(), info.ModTime()))
	assert.False(t, r.knows("10"))
	assert.True(t, r.knows("12"))
}

func TestAFileThatIsNotThereOrWrongIsNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "people.yaml")
	_, err := bots.OpenPeople(path, nil, nil)
	require.ErrorContains(t, err, path)
	for _, text := range []string{"", "people: [{persona: admin}]\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := bots.OpenPeople(path, nil, nil)
		require.ErrorContains(t, err, path)
	}
}

func TestManyAskAtOnceWhileTheFileChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "people.yaml")
	require.NoError(t, os.WriteFile(path, []byte(both), 0o600))
	var mu sync.Mutex
	now := time.Now()
	f, err := bots.OpenPeople(path, func() time.Time { // every look is a second after the one before
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}, nil)
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				_, known := f.Person(t.Context(), "test:11")
				assert.True(t, known)
				assert.NoError(t, f.Health())
			}
		})
	}
	for i := range 50 {
		next := path + ".new"
		require.NoError(t, os.WriteFile(next, []byte([]string{both, one}[i%2]), 0o600))
		require.NoError(t, os.Rename(next, path)) // as editors and configuration managers do
	}
	group.Wait()
}

// The command of somebody who was taken out is refused without a restart, also one that waits to be confirmed.
func TestARightIsLostWhileTheBotRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "people.yaml")
		require.NoError(t, os.WriteFile(path, []byte(both), 0o600))
		people, err := bots.OpenPeople(path, nil, nil)
		require.NoError(t, err)
		w, done, standing := asking(t, nil)
		config := w.config
		w.config = func(c *bots.Config) {
			config(c)
			c.Directory = people
		}
		stop := w.start(nil)
		defer stop()
		a := ask(t, w, done, standing, "raze shop --force")
		require.NoError(t, os.WriteFile(path, []byte(one), 0o600))
		<-time.After(time.Second)
		w.chat.Say("10", shop, "confirm "+a.code)
		until(t, "refused", func() bool { return len(w.kinds(shop)) == 2 && w.settled() })
		assert.Equal(t, []string{"bots.confirm", "bots.unknown"}, w.kinds(shop))
		assert.Empty(t, done.list())
	})
}

var _ bots.Directory = (*bots.PeopleFile)(nil)
