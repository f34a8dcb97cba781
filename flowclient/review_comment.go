package flowclient

import (
	"fmt"
	"strings"

	"platform.dev/platform/flowclient/window"
)

// commentReview is the key of the one comment about the review environment.
const commentReview = "review"

// How much of a failed stage the comment shows: lines, and bytes of each.
const (
	commentLines = 20
	commentWidth = 500
)

// comment is what the pull request is told about its review environment: pure.
// A pull request that was never told anything is not told that there is nothing.
func (f reviewFacts) comment(r PullRecord, all []forkStatus, why string) string {
	name := "Review environment `" + reviewEnvironment(r.Number) + "`"
	var b strings.Builder
	switch r.State {
	case "":
		if r.Text == "" {
			return ""
		}
		if f.Record.State == ReviewQueued {
			fmt.Fprintf(&b, "%s was not made: %s.", name, why)
		} else {
			fmt.Fprintf(&b, "%s is destroyed: %s.", name, why)
		}
		return b.String()
	case ReviewDestroying:
		fmt.Fprintf(&b, "%s is being destroyed: %s.", name, why)
		if r.Refused != "" {
			fmt.Fprintf(&b, "\n\n%s", r.Refused)
		}
		return b.String()
	case ReviewQueued:
		fmt.Fprintf(&b, "%s waits: %s. It is number %d in the queue and is made when a place is free.", name, f.full(), f.Ahead+1)
	case ReviewCreating:
		fmt.Fprintf(&b, "%s is being made from %s.", name, ShortSHA(r.Target))
	case ReviewPresent:
		fmt.Fprintf(&b, "%s shows %s.", name, ShortSHA(r.Target))
	case ReviewFailed:
		fmt.Fprintf(&b, "%s failed with %s", name, ShortSHA(r.Target))
		if r.Refused != "" { // else the components say why
			fmt.Fprintf(&b, ": %s", strings.TrimSuffix(r.Message, "."))
		}
		b.WriteString(".")
	}
	b.WriteString(forksText(all))
	if r.Shown != "" && r.Shown != r.Target {
		fmt.Fprintf(&b, "\n\nUntil then it shows %s.", ShortSHA(r.Shown))
	}
	b.WriteString(linesText(all))
	if f.TTL > 0 {
		fmt.Fprintf(&b, "\n\nIt is removed when nothing happens on the pull request for %s.", window.Span(f.TTL))
	}
	return b.String()
}

// forksText lists the components with where they answer.
func forksText(all []forkStatus) string {
	var b strings.Builder
	for _, s := range all {
		b.WriteString("\n- `" + s.Of + "` ")
		if s.URL != "" && s.Phase == forkReady {
			b.WriteString("at " + s.URL)
		} else if b.WriteString(s.Doing); s.URL != "" {
			b.WriteString(" (" + s.URL + ")")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// linesText is the end of the first failed stage. The fence is longer than any
// in the lines, so that they cannot end it.
func linesText(all []forkStatus) string {
	for _, s := range all {
		if s.Phase != forkFailed || len(s.Lines) == 0 {
			continue
		}
		var lines []string
		for _, line := range s.Lines[max(0, len(s.Lines)-commentLines):] {
			lines = append(lines, strings.ToValidUTF8(line[:min(len(line), commentWidth)], ""))
		}
		text := strings.Join(lines, "\n")
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		return fmt.Sprintf("\n\nThe last lines of stage %s of `%s`:\n\n%s\n%s\n%s", s.Stage, s.Run, fence, text, fence)
	}
	return ""
}
