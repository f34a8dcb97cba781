package announcer

import (
	"fmt"
	"strings"

	"platform.dev/platform/flowclient"
)

// thread is which message an event is told in. Events with the same key are
// told in one message, which changes in place.
type thread struct {
	key   string
	marks string // what the event begins, for threads that come after it; "" for nothing
	after string // the mark that comes before the thread's first event; "" when nothing has to
}

// goesOn tells whether the message may have been posted before the events that
// begun was collected from. It must then be brought up to date by itself, since
// a summary would leave it saying what is no longer so.
func (s said) goesOn(begun map[string]bool) bool {
	if begun[s.key] {
		return false
	}
	return s.sequel || s.after != "" && !begun[s.after]
}

// ownThread gives each event a message of its own.
func ownThread[B any](e flowclient.Event, _ B) thread { return thread{key: eventKey(e.Key)} }

// eventKey is the key of the message that begins with an event.
func eventKey(key string) string { return "announce/" + key }

// buildThread gives the events of one build one message: it starts as
// "building" and becomes the result.
func buildThread(_ flowclient.Event, b flowclient.BuildEvent) thread {
	return thread{key: buildKey(b.Build.Run)}
}

// buildKey is the key of the message that begins with a run.
func buildKey(run string) string { return "announce/build/" + run }

// pullThread is a message of its own that review environments come after.
func pullThread(e flowclient.Event, b flowclient.PullEvent) thread {
	t := ownThread(e, b)
	t.marks = pullMark(b.Pull)
	return t
}

// reviewThread gives the events of one review environment one message. Their
// keys begin alike, review/<pull request>/<turn>: a pull request that is opened
// again gets another environment, and that another message.
func reviewThread(e flowclient.Event, b flowclient.ReviewEvent) thread {
	parts := strings.SplitN(e.Key, "/", 4)
	return thread{key: "announce/" + strings.Join(parts[:min(3, len(parts))], "/"), after: pullMark(b.Pull)}
}

func pullMark(p flowclient.Pull) string { return fmt.Sprintf("pull %s#%d", p.Repo, p.Number) }
