package walkthrough

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// push commits another page to the project's repository.
func (r *run) push(ctx context.Context, effect, message, heading, link string) (flowclient.Commit, error) {
	source, err := pageSource(heading, "This page was changed by a push. "+message+".", link)
	if err != nil {
		return flowclient.Commit{}, err
	}
	return r.bot.Author.Commit(ctx, flowclient.CommitRequest{
		Origin: r.origin(effect), Project: r.w.Project, Message: message, Files: map[string]string{"index.html": source},
	})
}

// component is the run's component as it is delivered now.
func (r *run) component(ctx context.Context) (flowclient.ComponentDelivery, error) {
	d, err := r.bot.Reader.Delivery(ctx)
	if err != nil {
		return flowclient.ComponentDelivery{}, err
	}
	for _, c := range d.Components {
		if c.Project == r.w.Project && c.Component == r.s.Component {
			return c, nil
		}
	}
	return flowclient.ComponentDelivery{}, fmt.Errorf("component %s is not there", r.s.Component)
}

// build waits until the build of a commit has ended in the phase; the other end is a failure at once.
func (r *run) build(ctx context.Context, commit, phase string) (b flowclient.Build, err error) {
	expected := fmt.Sprintf("the build of %s has %s", flowclient.ShortSHA(commit), strings.ToLower(phase))
	err = r.until(ctx, expected, func(ctx context.Context) (bool, string, error) {
		c, err := r.component(ctx)
		switch {
		case err != nil:
			return false, "", err
		case c.LastBuild == nil:
			return false, "no build has started", nil
		case c.LastBuild.Commit != commit:
			return false, "the newest build is of " + flowclient.ShortSHA(c.LastBuild.Commit), nil
		}
		b = *c.LastBuild
		switch b.Phase {
		case phase:
			return true, "", nil
		case flowclient.BuildSucceeded, flowclient.BuildFailed:
			return false, "", r.otherEnd(ctx, expected, b)
		}
		return false, buildSeen(b), nil
	})
	return b, err
}

// otherEnd is a build that ended as it should not, with its last lines.
func (r *run) otherEnd(ctx context.Context, expected string, b flowclient.Build) *missed {
	m := &missed{Expected: expected, Seen: strings.TrimSpace(fmt.Sprintf("build %s has %s: %s", b.Run, strings.ToLower(b.Phase), b.Message)), Stage: b.FailedStage}
	m.Lines = r.log(ctx, b.Run, b.FailedStage, lines)
	return m
}

// buildSeen is how a build stands.
func buildSeen(b flowclient.Build) string {
	for _, s := range b.Stages {
		if s.Phase == flowclient.BuildRunning {
			return "build " + b.Run + " is in stage " + s.Name
		}
	}
	return "build " + b.Run + " is " + strings.ToLower(b.Phase)
}

// shows waits until an environment runs a page's commit, is ready and shows the page to a visitor.
func (r *run) shows(ctx context.Context, environment string, want page) (d flowclient.Deployment, err error) {
	err = r.until(ctx, fmt.Sprintf("%s shows %s", environment, want), func(ctx context.Context) (bool, string, error) {
		d, err = r.deployment(ctx, environment)
		switch {
		case err != nil:
			return false, "", err
		case d.Release == "":
			return false, environment + " runs nothing yet", nil
		case d.Commit != want.Commit:
			return false, environment + " runs " + flowclient.ShortSHA(d.Commit), nil
		case !d.Ready:
			return false, strings.TrimSpace(environment + " is not ready: " + d.Reason + " " + d.Message), nil
		}
		got, err := r.bot.visit(ctx, d.URL)
		if err != nil {
			return false, "", err
		}
		return got == want, environment + " shows " + got.String(), nil
	})
	return d, err
}

// tail is how many lines are shown of the build that made a release.
const tail = 6

// log is the last lines of a stage ("" for all). What cannot be read is said in
// its place: a step holds by what is seen, and the lines only show it.
func (r *run) log(ctx context.Context, run, stage string, last int) []string {
	log, err := r.bot.Reader.BuildLog(ctx, run, stage, last)
	if err != nil {
		return []string{"the log could not be read: " + err.Error()}
	}
	return log
}

// made is the end of the log of the build that made what an environment runs;
// empty when no build is known.
func (r *run) made(ctx context.Context, d flowclient.Deployment) []string {
	if d.Build == "" {
		return nil
	}
	return r.log(ctx, d.Build, "", tail)
}

// madeBy folds those lines away.
func madeBy(d flowclient.Deployment, log []string) []markup.Block {
	if len(log) == 0 {
		return nil
	}
	return []markup.Block{markup.Spoiler(markup.Spans(markup.T("Log: the end of the build that made it, "), markup.F(d.Build)), markup.Log(nil, log))}
}

// deployment is the run's component in one environment; the zero Deployment when it is not there yet.
func (r *run) deployment(ctx context.Context, environment string) (flowclient.Deployment, error) {
	c, err := r.component(ctx)
	if err != nil {
		return flowclient.Deployment{}, err
	}
	for _, d := range c.Environments {
		if d.Environment == environment {
			return d, nil
		}
	}
	return flowclient.Deployment{}, nil
}

// still checks that an environment shows the page it showed before.
func (r *run) still(ctx context.Context, environment, url string, want page) error {
	got, err := r.bot.visit(ctx, url)
	if err != nil {
		return err
	}
	if got != want {
		return &missed{Expected: fmt.Sprintf("%s still shows %s", environment, want), Seen: got.String()}
	}
	return nil
}

// promote promotes the run's component, asking again while a gate that lifts by itself is in the way.
func (r *run) promote(ctx context.Context, effect string) (moved flowclient.Outcome, err error) {
	asked := 0
	err = r.until(ctx, "the promotion is carried out", func(ctx context.Context) (bool, string, error) {
		asked++
		var err error
		moved, err = r.bot.Promoter.Promote(ctx, flowclient.Promotion{
			Origin: r.origin(fmt.Sprintf("%s/%d", effect, asked)), Project: r.w.Project, Component: r.s.Component,
		})
		var refusal *flowclient.Refusal
		if errors.As(err, &refusal) {
			return false, "", &missed{Expected: "the promotion is carried out", Seen: refusal.Sentence}
		}
		return err == nil && moved.Complete(), sentences(moved), err
	})
	return moved, err
}

// sentences is what became of each component.
func sentences(o flowclient.Outcome) string {
	var out []string
	for _, c := range o.Components {
		out = append(out, c.Sentence)
	}
	return strings.Join(out, "; ")
}

// names tells whether a sentence names something.
func names(sentence, what string) bool { return what != "" && strings.Contains(sentence, what) }

// buildFields are a build with its stages.
func buildFields(r *run, b flowclient.Build) []markup.Field {
	var stages []markup.Span
	for i, s := range b.Stages {
		if i > 0 {
			stages = append(stages, markup.T(" → "))
		}
		stages = append(stages, markup.C(s.Name))
		if s.StartedAt != nil && s.CompletedAt != nil {
			stages = append(stages, markup.T(" "+markup.Took(s.CompletedAt.Sub(*s.StartedAt))))
		} else if s.Phase != "" {
			stages = append(stages, markup.T(" "+strings.ToLower(s.Phase)))
		}
	}
	fields := []markup.Field{markup.Named("workflow run", link(b.Run, b.URL))}
	if len(stages) > 0 {
		fields = append(fields, markup.Named("stages", stages...))
	}
	return append(fields, markup.Named("repository", link(r.s.Repository.Name, r.s.Repository.WebURL)))
}

// pageFields are what a visitor sees of an environment.
func pageFields(r *run, d flowclient.Deployment, p page) markup.Block {
	return markup.Fields(
		markup.Named("page", link("open "+d.Environment, d.URL)),
		markup.Named("heading", markup.F(p.Heading)),
		markup.Named("commit", link(flowclient.ShortSHA(p.Commit), r.commitURL(p.Commit))),
		markup.Named("release", markup.C(d.Release), markup.T(" bound as "), markup.C(d.Binding)),
	)
}

// commitURL is a commit's page of the repository, where the repository has pages.
func (r *run) commitURL(sha string) string {
	if r.s.Repository.WebURL == "" {
		return ""
	}
	return r.s.Repository.WebURL + "/commit/" + sha
}

// movedText is what the flow controller says that it moved.
func movedText(o flowclient.Outcome) markup.Block {
	return markup.Text(markup.T("The flow controller: "), markup.F(sentences(o)))
}

// environmentRow is one environment in a table.
func environmentRow(name, url string, p page, commitURL string) [][]markup.Span {
	return [][]markup.Span{markup.Spans(link(name, url)), markup.Spans(markup.F(p.Heading)), markup.Spans(link(flowclient.ShortSHA(p.Commit), commitURL))}
}
