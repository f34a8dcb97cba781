package platform

import (
	"fmt"
	"strings"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// commit shows a commit, as a link where its repository is on the web.
func commit(repository, sha string) markup.Span {
	if sha == "" {
		return markup.T("an unknown commit")
	}
	if page, ok := repositoryPage(repository); ok {
		return markup.L(flowclient.ShortSHA(sha), page+"/commit/"+sha)
	}
	return markup.C(flowclient.ShortSHA(sha))
}

// repositoryPage is the page of a repository for people, where its clone URL is on the web.
func repositoryPage(repository string) (page string, ok bool) {
	ok = strings.HasPrefix(repository, "http://") || strings.HasPrefix(repository, "https://")
	return strings.TrimSuffix(repository, ".git"), ok
}

// link shows a text, as a link where there is an address.
func link(text, url string) markup.Span {
	if url == "" {
		return markup.T(text)
	}
	return markup.L(text, url)
}

// counted is a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// buildPhrase is how a build stands: "passed 3 min ago", "failed in test 3 min ago", "in build for 12 s".
func buildPhrase(b flowclient.Build, now time.Time) []markup.Span {
	when := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return " " + markup.Ago(now.Sub(*t))
	}
	switch b.Phase {
	case flowclient.BuildSucceeded:
		return markup.Spans(link("passed", b.URL), markup.T(when(b.CompletedAt)))
	case flowclient.BuildFailed:
		if b.FailedStage == "" {
			return markup.Spans(link("failed", b.URL), markup.T(when(b.CompletedAt)))
		}
		return markup.Spans(link("failed", b.URL), markup.T(" in "), markup.C(b.FailedStage), markup.T(when(b.CompletedAt)))
	case flowclient.BuildRunning:
		spans := markup.Spans(link("running", b.URL))
		for _, s := range b.Stages {
			if s.Phase == flowclient.BuildRunning {
				spans = append(spans, markup.T(", now in "), markup.C(s.Name))
			}
		}
		if b.StartedAt != nil {
			spans = append(spans, markup.T(", started "+markup.Ago(now.Sub(*b.StartedAt))))
		}
		return spans
	}
	return markup.Spans(link("waiting", b.URL), markup.T(", asked for "+markup.Ago(now.Sub(b.CreatedAt))))
}

// standing is how a component stands in an environment: "ready, 3 min ago".
func standing(d flowclient.Deployment, now time.Time) []markup.Span {
	var spans []markup.Span
	switch {
	case d.Release == "":
		return markup.Spans(markup.T("nothing yet"))
	case d.State == "Undeploy":
		spans = markup.Spans(markup.B("taken out of service"))
	case d.Ready:
		spans = markup.Spans(link("ready", d.URL))
	case d.Reason != "":
		spans = markup.Spans(markup.B("not ready"), markup.T(" ("), markup.F(d.Reason), markup.T(")"))
	default:
		spans = markup.Spans(markup.B("not ready"))
	}
	if d.Since != nil {
		spans = append(spans, markup.T(", "+markup.Ago(now.Sub(*d.Since))))
	}
	return spans
}

// troubles are the messages of environments that are not ready.
func troubles(cs []flowclient.ComponentDelivery) [][]markup.Span {
	var out [][]markup.Span
	for _, c := range cs {
		for _, d := range c.Environments {
			if d.Release != "" && !d.Ready && d.State != "Undeploy" && d.Message != "" {
				out = append(out, markup.Spans(markup.C(c.Component), markup.T(" in "+d.Environment+": "), markup.F(d.Message)))
			}
		}
	}
	return out
}
