package walkthrough

import (
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// tellStarted says what will happen.
func tellStarted(r *run) outcome {
	var items [][]markup.Span
	for _, s := range r.steps[1:] {
		items = append(items, markup.Spans(markup.T(s.title+": "+s.expectation)))
	}
	return outcome{
		kind:  "started",
		title: markup.Spans(markup.B(r.w.Project), markup.T(" starts, asked for by "), markup.F(r.w.Who)),
		blocks: []markup.Block{
			markup.Text(markup.T("A static site is taken from an empty repository through a rollback and a pull request. Each step is checked where a visitor would see it:")),
			markup.List(items...),
		},
	}
}

// tellScaffolded shows the new project.
func tellScaffolded(r *run, made flowclient.Scaffolded) outcome {
	return outcome{
		kind:  "scaffolded",
		title: markup.Spans(markup.B(made.Project), markup.T(" is made from the template "), markup.C(r.w.Template)),
		blocks: []markup.Block{markup.Fields(
			markup.Named("repository", link(made.Repository.Name, made.Repository.WebURL)),
			markup.Named("first commit", link(flowclient.ShortSHA(made.Commit.SHA), made.Commit.WebURL), markup.T(" "), markup.F(made.Commit.Subject)),
			markup.Named("component", markup.C(r.s.Component)),
		)},
		links: markup.Spans(link("repository", made.Repository.WebURL), link(flowclient.ShortSHA(made.Commit.SHA), made.Commit.WebURL)),
	}
}

// tellBuilt shows the first build.
func tellBuilt(r *run, b flowclient.Build, log []string) outcome {
	return outcome{
		kind:   "built",
		title:  markup.Spans(markup.T("the first push is built")),
		blocks: []markup.Block{markup.Fields(buildFields(r, b)...), logSpoiler("", log)},
		links:  markup.Spans(link(b.Run, b.URL)),
	}
}

// tellStaging shows what staging answers.
func tellStaging(r *run, d flowclient.Deployment, log []string) outcome {
	return outcome{
		kind:   "staging",
		title:  markup.Spans(markup.T("staging answers")),
		blocks: append([]markup.Block{pageFields(r, d, r.s.First)}, madeBy(d, log)...),
		links:  markup.Spans(link("staging", d.URL)),
	}
}

// tellPromoted shows what production answers.
func tellPromoted(r *run, d flowclient.Deployment, moved flowclient.Outcome, log []string) outcome {
	return outcome{
		kind:   "promoted",
		title:  markup.Spans(markup.T("staging is promoted to production")),
		blocks: append([]markup.Block{pageFields(r, d, r.s.First), movedText(moved)}, madeBy(d, log)...),
		links:  markup.Spans(link("production", d.URL)),
	}
}

// tellChanged compares the environments after the second push.
func tellChanged(r *run, c flowclient.Commit, b flowclient.Build, d flowclient.Deployment, log []string) outcome {
	return outcome{
		kind:  "changed",
		title: markup.Spans(markup.T("a second push reaches staging, and only staging")),
		blocks: []markup.Block{
			markup.Fields(append(buildFields(r, b), markup.Named("commit", link(flowclient.ShortSHA(c.SHA), c.WebURL), markup.T(" "), markup.F(c.Subject)))...),
			markup.Table([]string{"environment", "heading", "commit"},
				environmentRow("staging", d.URL, r.s.Second, c.WebURL),
				environmentRow("production", r.s.Production, r.s.First, r.commitURL(r.s.First.Commit))),
			logSpoiler("", log),
		},
		links: markup.Spans(link(flowclient.ShortSHA(c.SHA), c.WebURL), link(b.Run, b.URL)),
	}
}

// tellLocked shows the lock and the refusal, with what each gate said.
func tellLocked(r *run, lock flowclient.Lock, refusal *flowclient.Refusal) outcome {
	locked := link(flowclient.ShortSHA(lock.Commit), r.commitURL(lock.Commit))
	o := outcome{
		kind:  "locked",
		title: markup.Spans(markup.T("the commit is locked, and its promotion refused")),
		blocks: []markup.Block{
			markup.Fields(
				markup.Named("lock", markup.C(lock.Component), markup.T(" "), locked, markup.T(" in "+lock.Environment+", set by "), markup.F(lock.Who)),
				markup.Named("reason", markup.F(lock.Reason)),
			),
			markup.Text(markup.T("The promotion was answered: "), markup.F(refusal.Sentence)),
		},
		links: markup.Spans(locked),
	}
	var gates [][]markup.Span
	for _, g := range refusal.Gates {
		verdict := "against"
		if g.Pass {
			verdict = "for"
		}
		gates = append(gates, markup.Spans(markup.B(g.Gate), markup.T(" "+verdict+": "), markup.F(g.Sentence)))
	}
	if len(gates) > 0 {
		o.blocks = append(o.blocks, markup.Spoiler(markup.Spans(markup.T("What each gate said")), markup.List(gates...)))
	}
	return o
}

// tellUnlocked shows the lock gone and the commit in production.
func tellUnlocked(r *run, cleared []flowclient.Lock, d flowclient.Deployment, moved flowclient.Outcome, log []string) outcome {
	text := markup.Text(markup.T("The lock was cleared before."))
	if len(cleared) > 0 {
		text = markup.Text(markup.T("Cleared the lock of "), markup.C(flowclient.ShortSHA(cleared[0].Commit)), markup.T(" set by "), markup.F(cleared[0].Who), markup.T("."))
	}
	return outcome{
		kind:   "unlocked",
		title:  markup.Spans(markup.T("the lock is cleared and the commit promoted")),
		blocks: append([]markup.Block{text, pageFields(r, d, r.s.Second), movedText(moved)}, madeBy(d, log)...),
		links:  markup.Spans(link("production", d.URL)),
	}
}

// tellRolledBack shows production as it was.
func tellRolledBack(r *run, d flowclient.Deployment, moved flowclient.Outcome, log []string) outcome {
	return outcome{
		kind:   "rolledback",
		title:  markup.Spans(markup.T("production is rolled back; nothing was built for it")),
		blocks: append([]markup.Block{pageFields(r, d, r.s.First), movedText(moved)}, madeBy(d, log)...),
		links:  markup.Spans(link("production", d.URL)),
	}
}

// tellBroken shows the stage that failed.
func tellBroken(r *run, c flowclient.Commit, b flowclient.Build, log []string) outcome {
	return outcome{
		kind:  "broken",
		title: markup.Spans(markup.T("a push breaks its own tests, and goes no further")),
		blocks: []markup.Block{
			markup.Fields(append(buildFields(r, b),
				markup.Named("commit", link(flowclient.ShortSHA(c.SHA), c.WebURL), markup.T(" "), markup.F(c.Subject)),
				markup.Named("failed stage", markup.C(b.FailedStage), markup.T(" "), markup.F(b.Message)),
				markup.Named("staging", markup.T("still shows "), link(flowclient.ShortSHA(r.s.Third.Commit), r.s.Staging)),
			)...),
			logSpoiler(b.FailedStage, log),
		},
		links: markup.Spans(link(flowclient.ShortSHA(c.SHA), c.WebURL), link(b.Run, b.URL)),
	}
}
