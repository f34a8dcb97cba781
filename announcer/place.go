package announcer

import (
	"unicode/utf8"

	"platform.dev/platform/flowclient"
)

// The topics of a project's stream.
const (
	topicBuilds     = "builds"
	topicPromotions = "promotions"
	topicPulls      = "pull requests"
)

// everyProject names what is of all of them.
const everyProject = "every project"

// maxTopic is the longest topic, in code points, that chats take without cutting it themselves.
const maxTopic = 60

// place is a stream and a topic, marshalled as the outbox's readers expect it.
type place struct {
	Stream string `json:"stream"`
	Topic  string `json:"topic"`
}

// place is where an event of the kind is announced: the project's stream, or,
// for a walkthrough's project and for what is never production activity, a
// topic of the project's own in the sandbox. What concerns every project has
// no stream of its own, and a topic there likewise.
func (k kind) place(e flowclient.Event, sandbox string) place {
	if e.Project == "" {
		return place{Stream: sandbox, Topic: everyProject + ": " + k.topic}
	}
	if !e.Walkthrough && !k.apart {
		return place{Stream: e.Project, Topic: k.topic}
	}
	end := ": " + k.topic
	return place{Stream: sandbox, Topic: cut(e.Project, maxTopic-utf8.RuneCountInString(end)) + end}
}

// cut shortens text to n code points.
func cut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}
