package announcer

import (
	"unicode/utf8"

	"platform.dev/platform/flowclient"
)

// The topics of a project's stream.
const (
	topicBuilds     = "builds"
	topicPromotions = "promotions"
)

// maxTopic is the longest topic, in code points, that chats take without cutting it themselves.
const maxTopic = 60

// place is a stream and a topic, marshalled as the outbox's readers expect it.
type place struct {
	Stream string `json:"stream"`
	Topic  string `json:"topic"`
}

// placeOf is where an event is announced: the project's stream, or, for a
// walkthrough's project, a topic of its own in the sandbox.
func placeOf(e flowclient.Event, topic, sandbox string) place {
	if !e.Walkthrough {
		return place{Stream: e.Project, Topic: topic}
	}
	end := ": " + topic
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
