package platform

import (
	"slices"
	"strings"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// remedies say, by the gate that keeps a release from production, what a person
// can ask next: a line each. Those that only the automatic pass asks have none,
// since a promotion by hand passes them.
var remedies = map[string]func(project string, v flowclient.Verdict) [][]markup.Span{
	"lock":     unlockIt,
	"window":   seeWindow,
	"capacity": makeRoom,
	"ready":    watchIt,
	"soak":     skipIt,
	"check":    skipIt,
}

// remediesOf are the remedies of failing verdicts, each line once.
func remediesOf(project string, verdicts []flowclient.Verdict) [][]markup.Span {
	var out [][]markup.Span
	for _, v := range verdicts {
		remedy := remedies[v.Gate]
		if passes(v) || remedy == nil {
			continue
		}
		for _, line := range remedy(project, v) {
			if !slices.ContainsFunc(out, func(other []markup.Span) bool { return slices.Equal(other, line) }) {
				out = append(out, line)
			}
		}
	}
	return out
}

// passes tells whether a gate lets the move pass, by itself or lifted.
func passes(v flowclient.Verdict) bool { return v.Pass || v.Lifted != "" }

// say is a command as a person would type it.
func say(words ...string) markup.Span {
	return markup.C("@" + Bot + " " + strings.Join(words, " "))
}

// unlockIt clears the lock, or first tells what would move then.
func unlockIt(_ string, v flowclient.Verdict) [][]markup.Span {
	commit := v.Numbers["commit"]
	if v.Component == "" || commit == "" {
		return nil
	}
	words := []string{"unlock", v.Component, flowclient.ShortSHA(commit)}
	if environment := v.Numbers["environment"]; environment != "" && !strings.Contains(environment, " ") {
		words = append(words, "--to", environment)
	}
	dry := append(slices.Clone(words), "--dry-run")
	return [][]markup.Span{markup.Spans(say(words...), markup.T(" clears the lock, "), say(dry...), markup.T(" tells what would move then."))}
}

// seeWindow tells of the window and of freezes, by number.
func seeWindow(project string, _ flowclient.Verdict) [][]markup.Span {
	return [][]markup.Span{markup.Spans(say("window", project), markup.T(" tells when it opens, and which freezes there are; "), say("thaw <id>"), markup.T(" ends one."))}
}

// makeRoom promotes what fits alone, or forces.
func makeRoom(project string, v flowclient.Verdict) [][]markup.Span {
	var out [][]markup.Span
	for _, c := range strings.FieldsFunc(v.Numbers["fits"], func(r rune) bool { return r == ',' }) {
		out = append(out, markup.Spans(say("promote", project, "--component", c), markup.T(" promotes a part that fits.")))
	}
	return append(out, markup.Spans(say("promote", project, "--force"), markup.T(" goes on all the same, for those with the permission "), markup.C(ActionForce), markup.T("; it is recorded.")))
}

// watchIt follows what is being started.
func watchIt(_ string, v flowclient.Verdict) [][]markup.Span {
	if v.Component == "" {
		return nil
	}
	return [][]markup.Span{markup.Spans(say("watch", v.Component, flowclient.Staging), markup.T(" follows it."))}
}

// skipIt goes on without soak and URL check.
func skipIt(project string, _ flowclient.Verdict) [][]markup.Span {
	return [][]markup.Span{markup.Spans(say("promote", project, `--skip-soak "<reason>"`), markup.T(" does not wait for it, for those with the permission "), markup.C(ActionSkipSoak), markup.T(", where the operator allows that; it is recorded."))}
}

// against lists the failing gates, each sentence once, but not what is said already.
func against(verdicts []flowclient.Verdict, said string) [][]markup.Span {
	var out [][]markup.Span
	seen := map[string]bool{}
	for _, v := range verdicts {
		if passes(v) || v.Sentence == "" || seen[v.Sentence] || strings.Contains(said, v.Sentence) {
			continue
		}
		seen[v.Sentence] = true
		out = append(out, markup.Spans(markup.B(v.Gate), markup.T(": "), markup.F(v.Sentence)))
	}
	return out
}
