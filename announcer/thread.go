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

// pullThread gives each time that a pull request is opened a message of its own,
// which says what it is now, and which review environments come after. The keys
// of its events begin alike, pull/<pull request>/open/<turn>.
func pullThread(e flowclient.Event, b flowclient.PullEvent) thread {
	return thread{key: eventKey(begin(e.Key, 4)), marks: pullMark(b.Pull)}
}

// begin is the first parts of a key.
func begin(key string, parts int) string {
	all := strings.SplitN(key, "/", parts+1)
	return strings.Join(all[:min(parts, len(all))], "/")
}

// reviewThread gives the events of one review environment one message. Their
// keys begin alike, review/<pull request>/<turn>: a pull request that is opened
// again gets another environment, and that another message.
func reviewThread(e flowclient.Event, b flowclient.ReviewEvent) thread {
	return thread{key: eventKey(begin(e.Key, 3)), after: pullMark(b.Pull)}
}

func pullMark(p flowclient.Pull) string { return fmt.Sprintf("pull %s#%d", p.Repo, p.Number) }
