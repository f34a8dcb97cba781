package bots

import "strings"

// WithoutMention puts together what stood before and after the mention of a
// bot, with one space where two would meet.
func WithoutMention(before, after string) string {
	before, after = strings.TrimRight(before, " \t"), strings.TrimLeft(after, " \t")
	// "@platform: promote shop" is how one addresses somebody in writing.
	if before == "" {
		after = strings.TrimLeft(after, ":, \t")
	}
	if before == "" || after == "" || strings.HasPrefix(after, "\n") || strings.HasSuffix(before, "\n") {
		return before + after
	}
	return before + " " + after
}
