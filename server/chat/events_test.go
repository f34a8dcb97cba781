package chat_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// polled is the answer of a long poll that runs beside the test.
type polled struct {
	body map[string]any
	at   time.Time
	err  error
}

// poll starts a long poll and gives the channel of its answer.
func (a *actor) poll(ctx context.Context, queue string, last int64) <-chan polled {
	out := make(chan polled, 1)
	go func() {
		got, err := a.do(ctx, "GET", "/events", form{"queue_id": queue, "last_event_id": last})
		out <- polled{got.body, time.Now(), err}
	}()
	return out
}

func TestALongPollAnswersWhenSomethingIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fresh(t)
		ann, bob := w.person("Ann"), w.person("Bob")
		w.stream("general", ann, bob)
		queue := bob.register(form{"event_types": []string{"message"}})
		answer := bob.poll(t.Context(), queue, -1)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		before := time.Now()
		sent := ann.post("general", "greetings", "hello")
		got := <-answer
		require.NoError(t, got.err)
		assert.Equal(t, before, got.at, "at once")
		list := events(got.body)
		require.Len(t, list, 1)
		assert.Equal(t, sent, id(list[0]["message"].(map[string]any)["id"]))
	})
}

func TestAQuietPollEndsWithAHeartbeatAfter45To55Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fresh(t)
		ann := w.person("Ann")
		queue := ann.register(nil)
		last := int64(-1)
		for range 5 {
			start := time.Now()
			got := <-ann.poll(t.Context(), queue, last)
			require.NoError(t, got.err)
			waited := got.at.Sub(start)
			assert.GreaterOrEqual(t, waited, 45*time.Second)
			assert.LessOrEqual(t, waited, 55*time.Second)
			list := events(got.body)
			require.Len(t, list, 1)
			assert.Equal(t, "heartbeat", list[0]["type"])
			assert.Greater(t, id(list[0]["id"]), last, "ids increase")
			last = id(list[0]["id"])
		}
	})
}

func TestASecondPollerMakesTheFirstReturnEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fresh(t)
		ann := w.person("Ann")
		w.stream("general", ann)
		queue := ann.register(form{"event_types": []string{"message"}})
		first := ann.poll(t.Context(), queue, -1)
		synctest.Wait()
		second := ann.poll(t.Context(), queue, -1)
		synctest.Wait()
		got := <-first
		require.NoError(t, got.err)
		assert.Empty(t, events(got.body))
		ann.post("general", "t", "hello")
		got = <-second
		require.NoError(t, got.err)
		assert.Len(t, events(got.body), 1)
	})
}

func TestAQueueThatNobodyPollsExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fresh(t)
		ann := w.person("Ann")
		short := ann.register(form{"queue_lifespan_secs": 30})
		usual := ann.register(nil)
		long := ann.register(form{"queue_lifespan_secs": 100 * 24 * 3600})
		time.Sleep(31 * time.Second)
		ann.fails(400, "BAD_EVENT_QUEUE_ID", "GET", "/events", form{"queue_id": short, "last_event_id": -1, "dont_block": true})
		time.Sleep(9 * time.Minute)
		assert.Empty(t, ann.events(usual, -1), "0 means 600 seconds, and a poll starts them anew")
		time.Sleep(599 * time.Second)
		assert.Empty(t, ann.events(usual, -1))
		time.Sleep(601 * time.Second)
		ann.fails(400, "BAD_EVENT_QUEUE_ID", "GET", "/events", form{"queue_id": usual, "last_event_id": -1, "dont_block": true})
		time.Sleep(6 * 24 * time.Hour)
		assert.Empty(t, ann.events(long, -1))
		time.Sleep(7*24*time.Hour + time.Second)
		ann.fails(400, "BAD_EVENT_QUEUE_ID", "GET", "/events", form{"queue_id": long, "last_event_id": -1, "dont_block": true})
	})
}

func TestAPollIsNotIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fresh(t)
		ann := w.person("Ann")
		w.stream("general", ann)
		queue := ann.register(form{"event_types": []string{"message"}, "queue_lifespan_secs": 10})
		answer := ann.poll(t.Context(), queue, -1)
		time.Sleep(40 * time.Second)
		ann.post("general", "t", "still here")
		got := <-answer
		require.NoError(t, got.err)
		assert.Len(t, events(got.body), 1)
	})
}

func TestDeletingAQueueEndsItsPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fresh(t)
		ann := w.person("Ann")
		queue := ann.register(nil)
		answer := ann.poll(t.Context(), queue, -1)
		synctest.Wait()
		ann.ok("DELETE", "/events", form{"queue_id": queue})
		got := <-answer
		require.NoError(t, got.err)
		assert.Empty(t, events(got.body))
		ann.fails(400, "BAD_EVENT_QUEUE_ID", "GET", "/events", form{"queue_id": queue, "last_event_id": -1})
	})
}

func TestAClientThatLeavesFreesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fresh(t)
		ann := w.person("Ann")
		w.stream("general", ann)
		queue := ann.register(form{"event_types": []string{"message"}})
		ctx, cancel := context.WithCancel(t.Context())
		answer := ann.poll(ctx, queue, -1)
		synctest.Wait()
		cancel()
		require.ErrorIs(t, (<-answer).err, context.Canceled)
		ann.post("general", "t", "kept")
		assert.Len(t, ann.events(queue, -1), 1, "what came meanwhile is still there")
	})
}

func TestAcknowledgingPrunesAndStrangeNumbersAreRefused(t *testing.T) {
	w := fresh(t)
	ann, bob := w.person("Ann"), w.person("Bob")
	w.stream("general", ann)
	queue := ann.register(form{"event_types": []string{"message"}})
	for n := range 4 {
		ann.post("general", "t", fmt.Sprint("message ", n))
	}
	all := ann.events(queue, -1)
	require.Len(t, all, 4)
	assert.Len(t, ann.events(queue, -1), 4, "without an acknowledgement everything comes again")
	second := id(all[1]["id"])
	assert.Equal(t, all[2:], ann.events(queue, second))
	poll := func(last int64) form { return form{"queue_id": queue, "last_event_id": last, "dont_block": true} }
	body := ann.fails(400, "BAD_REQUEST", "GET", "/events", poll(-1))
	assert.Equal(t, "An event newer than -1 has already been pruned!", body["msg"])
	body = ann.fails(400, "BAD_REQUEST", "GET", "/events", poll(99))
	assert.Equal(t, "Event 99 was not in this queue", body["msg"])
	bob.fails(400, "BAD_EVENT_QUEUE_ID", "GET", "/events", poll(-1))
	bob.fails(400, "BAD_EVENT_QUEUE_ID", "DELETE", "/events", form{"queue_id": queue})
}

func TestManyPostersAndPollersSeeEveryMessageInOrder(t *testing.T) {
	const posters, pollers, each = 6, 4, 15
	w := fresh(t)
	var people []*actor
	for n := range posters + pollers {
		people = append(people, w.person(fmt.Sprint("Person ", n)))
	}
	w.stream("general", people...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	seen := make([][]int64, pollers)
	for n := range pollers {
		reader := people[posters+n]
		queue := reader.register(form{"event_types": []string{"message"}})
		wg.Go(func() {
			last := int64(-1)
			for len(seen[n]) < posters*each {
				got, err := reader.do(ctx, "GET", "/events", form{"queue_id": queue, "last_event_id": last})
				if !assert.NoError(t, err) || !assert.Equal(t, 200, got.status, "%v", got.body) {
					return
				}
				for _, e := range events(got.body) {
					last = id(e["id"])
					if e["type"] == "message" {
						seen[n] = append(seen[n], id(e["message"].(map[string]any)["id"]))
					}
				}
			}
		})
	}
	for n := range posters {
		wg.Go(func() {
			for k := range each {
				got, err := people[n].do(ctx, "POST", "/messages", form{"type": "channel", "to": "general", "topic": "t", "content": fmt.Sprint(n, " says ", k)})
				assert.NoError(t, err)
				assert.Equal(t, 200, got.status)
			}
		})
	}
	wg.Wait()
	var want []int64
	for _, m := range people[0].messages(form{"num_before": 1000}) {
		want = append(want, id(m["id"]))
	}
	require.Len(t, want, posters*each)
	for n := range pollers {
		assert.Equal(t, want, seen[n], "poller %d", n)
	}
}

func TestQueuesEndWithTheServerAndMessagesDoNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chat.db")
	w := open(t, path, nil)
	ann, bot := w.person("Ann"), w.bot("walkthrough")
	w.stream("general", ann)
	queue := ann.register(nil)
	sent := ann.post("general", "greetings", "hello @**walkthrough**")
	ann.ok("POST", "/messages/"+itoa(sent)+"/reactions", form{"emoji_name": "tada"})
	ann.ok("PATCH", "/messages/"+itoa(sent), form{"content": "hello again"})
	before := ann.messages(form{})
	w.stop()

	w = open(t, path, nil)
	again := w.person("Ann")
	assert.Equal(t, ann.User, again.User, "the same account with the same key")
	assert.Equal(t, bot.User, w.bot("walkthrough").User)
	again.fails(400, "BAD_EVENT_QUEUE_ID", "GET", "/events", form{"queue_id": queue, "last_event_id": -1})
	assert.Equal(t, before, again.messages(form{}))
	assert.Greater(t, again.post("general", "greetings", "next"), sent, "ids increase over restarts")
}

func BenchmarkPostToEvent(b *testing.B) {
	w := fresh(b)
	ann, bob := w.person("Ann"), w.person("Bob")
	w.stream("general", ann, bob)
	queue := bob.register(form{"event_types": []string{"message"}})
	last := int64(-1)
	for b.Loop() {
		answer := bob.poll(b.Context(), queue, last)
		ann.post("general", "t", "hello")
		got := <-answer
		require.NoError(b, got.err)
		list := events(got.body)
		last = id(list[len(list)-1]["id"])
	}
}
