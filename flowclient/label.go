package flowclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	labelPromote   = "promote" // on a pull request: promotes its merge commit; see promoteLabel
	commentPromote = "promote" // key of the one comment about the label
	// promotePatience is how long a merge commit may take to reach staging, and
	// its gates to pass, before the label is answered with what it waits for.
	promotePatience = 24 * time.Hour
)

// promoteLabel is how the label looks in a repository that the controller makes.
var promoteLabel = Label{Name: labelPromote, Color: "#1d7f4e", Description: "once merged: the merge commit goes to production"}

// labelFacts is what the answer to a promote label looks at.
type labelFacts struct {
	Pull   Pull
	Record PullRecord
	Built  []labelledComponent // those that the merge commit was built for
	Others bool                // a later commit than the merge commit runs in staging, and nothing was built of it
	Now    time.Time
}

// labelledComponent is one component that the merge commit was built for.
type labelledComponent struct {
	Name    string
	Project string
	Build   Build
	Staging string // the commit that staging runs
	Later   bool   // it is a later one than the merge commit
}

// labelAnswer is what follows from a label: one of Promote, Wait and Final.
type labelAnswer struct {
	Promote []labelledComponent
	Wait    string
	Final   string
}

// planLabel decides about a promote label: pure.
func planLabel(f labelFacts) labelAnswer {
	commit := ShortSHA(f.Pull.MergeCommit)
	switch {
	case !slices.Contains(f.Record.Labels, labelPromote):
		return labelAnswer{Final: "The label was taken off; nothing was promoted."}
	case f.Record.Pull == pullClosed:
		return labelAnswer{Final: "The pull request was closed without being merged; nothing was promoted."}
	case !f.Pull.Merged:
		return labelAnswer{Wait: "When this is merged and staging runs the merge commit, that is promoted."}
	case f.Now.Sub(f.Record.AskedAt) >= promotePatience && !f.reached():
		return labelAnswer{Final: fmt.Sprintf("Staging did not come to run %s within %d hours; nothing was promoted. Put the label on again when it does.", commit, int(promotePatience.Hours()))}
	case len(f.Built) == 0 && f.Others:
		return labelAnswer{Final: fmt.Sprintf("Superseded: staging runs a later commit than %s; nothing was promoted. Promote what staging runs instead.", commit)}
	case len(f.Built) == 0:
		return labelAnswer{Wait: fmt.Sprintf("%s waits for its build.", commit)}
	}
	wait := ""
	for _, b := range f.Built {
		switch {
		case b.Staging == f.Pull.MergeCommit:
		case b.Later:
			return labelAnswer{Final: fmt.Sprintf("Superseded: staging runs %s of %s, which is later than %s; nothing was promoted. Promote what staging runs instead.", ShortSHA(b.Staging), b.Name, commit)}
		case b.Build.Phase == BuildFailed:
			return labelAnswer{Final: fmt.Sprintf("Refused: the build of %s of %s failed; nothing was promoted.", commit, b.Name)}
		case wait == "":
			wait = fmt.Sprintf("%s is promoted when staging runs it; %s does not yet.", commit, b.Name)
		}
	}
	if wait != "" {
		return labelAnswer{Wait: wait}
	}
	return labelAnswer{Promote: f.Built}
}

// reached tells whether staging runs the merge commit in every component that it was built for.
func (f labelFacts) reached() bool {
	return len(f.Built) > 0 && !slices.ContainsFunc(f.Built, func(b labelledComponent) bool { return b.Staging != f.Pull.MergeCommit })
}

// answerLabel promotes the merge commit of a labelled pull request, waits for
// it, or says why not.
func (c *Controller) answerLabel(ctx context.Context, w pullWorld, r PullRecord, pull Pull) (PullRecord, error) {
	f := labelFacts{Pull: pull, Record: r, Now: c.deps.Now()}
	if pull.Merged && slices.Contains(r.Labels, labelPromote) {
		var err error
		if f, err = c.labelFacts(ctx, w, f); err != nil {
			return r, err
		}
	}
	answer := planLabel(f)
	if len(answer.Promote) > 0 {
		var err error
		if answer, err = c.promoteMerged(ctx, r, pull, answer.Promote); err != nil {
			return r, err
		}
		if answer.Wait != "" && f.Now.Sub(r.AskedAt) >= promotePatience {
			answer.Final = answer.Wait + " That has taken too long; put the label on again when it does."
		}
	}
	text := cmp.Or(answer.Final, answer.Wait)
	if text != r.Replied {
		err := c.deps.Pulls.Comment(ctx, r.Repo, r.Number, fmt.Sprintf("%s-%d", commentPromote, r.Asked), "Label `promote`: "+text)
		if err != nil && !IsNotFound(err) {
			return r, fmt.Errorf("comment on %s: %w", pullName(r.Repo, r.Number), err)
		}
	}
	next := r
	if next.Replied = text; answer.Final != "" {
		next.Answered, next.Replied = r.Asked, ""
	}
	if sameRecord(r, next) {
		return r, nil
	}
	return next, c.deps.Reviews.PutPull(ctx, next)
}

// labelFacts reads what the merge commit was built for, and what staging runs there.
func (c *Controller) labelFacts(ctx context.Context, w pullWorld, f labelFacts) (labelFacts, error) {
	runs, err := c.deps.ControlPlane.List(ctx, KindWorkflowRun, Filter{})
	if err != nil {
		return f, fmt.Errorf("list builds: %w", err)
	}
	for _, o := range w.components {
		repo, err := repositoryOf(o)
		if err != nil || repo != f.Record.Repo || o.Metadata.Annotations[AnnotationOwned] == "true" {
			continue
		}
		one, built, err := c.labelled(ctx, o, runs, f.Pull)
		if err != nil {
			return f, err
		}
		if built {
			f.Built = append(f.Built, one)
		} else {
			f.Others = f.Others || one.Later
		}
	}
	return f, nil
}

// labelled is one component of the repository; built tells whether the merge commit was built for it.
func (c *Controller) labelled(ctx context.Context, component Object, runs []Object, pull Pull) (one labelledComponent, built bool, err error) {
	var spec ComponentSpec
	if err := component.Decode(&spec, nil); err != nil {
		return one, false, err
	}
	one = labelledComponent{Name: component.Metadata.Name, Project: spec.Owner.ProjectName}
	for _, o := range runs {
		b, err := readBuild(o)
		if err != nil {
			return one, false, err
		}
		newer := !built || b.CreatedAt.After(one.Build.CreatedAt)
		if b.Component == one.Name && b.Commit == pull.MergeCommit && newer {
			one.Build, built = b, true
		}
	}
	staging, err := c.readBinding(ctx, bindingName(one.Name, Staging))
	if err != nil || staging.spec.ReleaseName == "" {
		return one, built, err
	}
	o, err := c.deps.ControlPlane.Get(ctx, KindComponentRelease, staging.spec.ReleaseName)
	if err != nil && !IsNotFound(err) {
		return one, built, err
	}
	if one.Staging = o.Metadata.Labels[LabelCommit]; one.Staging == "" || one.Staging == pull.MergeCommit {
		return one, built, nil
	}
	// Later is what has the merge commit behind it: nothing of the merge commit is missing from it.
	missing, _, err := c.deps.Pulls.Compare(ctx, pull.Repo, one.Staging, pull.MergeCommit, 1)
	if IsNotFound(err) {
		return one, built, nil
	}
	one.Later = err == nil && len(missing) == 0
	return one, built, err
}

// promoteMerged promotes what the merge commit was built for, and nothing
// else, by the path of every promotion: its gates, its intent, its event. The
// key stands for this commit and this putting on of the label.
func (c *Controller) promoteMerged(ctx context.Context, r PullRecord, pull Pull, of []labelledComponent) (labelAnswer, error) {
	byProject := map[string][]string{}
	for _, one := range of {
		byProject[one.Project] = append(byProject[one.Project], one.Name)
	}
	key := fmt.Sprintf("pull/%s/%d/promote/%s/%d", r.Repo, r.Number, pull.MergeCommit, r.Asked)
	var sentences []string
	waiting := false
	for i, project := range sortedKeys(byProject) {
		p := Promotion{Origin: Origin{Key: key, Who: "label promote on " + pull.name(), Link: pull.URL}, Project: project}
		if i > 0 {
			p.Origin.Key += "/" + project // one repository may be built into several
		}
		out, err := c.promoteComponents(ctx, p, byProject[project], pull.MergeCommit)
		var refusal *Refusal
		if errors.As(err, &refusal) {
			text := "Refused: " + refusal.Sentence
			if refusal.Gate != "" { // such a sentence tells what lifts it, and not how to ask again
				text += " Take the label off, and put it on again when that has changed."
			}
			sentences = append(sentences, text)
			continue
		}
		if err != nil {
			return labelAnswer{}, err
		}
		for _, one := range out.Components {
			waiting = waiting || one.Result == Retry
			sentences = append(sentences, one.Sentence)
		}
	}
	text := strings.Join(sentences, "\n")
	if waiting {
		return labelAnswer{Wait: text}, nil
	}
	return labelAnswer{Final: text}, nil
}

// promoteComponents is Promote for some components of a project, while staging
// runs the commit in each of them. They move together: while one has to wait
// nothing is written, so that the key still stands for all of them.
func (c *Controller) promoteComponents(ctx context.Context, r Promotion, components []string, commit string) (Outcome, error) {
	asked := []any{r.Project, components, commit}
	return perform(ctx, c, kindPromote, projectSubject(r.Project), r.Origin, asked, func(ctx context.Context) (any, Outcome, bool, error) {
		plan, err := c.decideCommit(ctx, r, components, commit)
		if refusal, ok := err.(*Refusal); ok { //nolint:errorlint // a decision is never wrapped
			return nil, Outcome{}, true, c.refused(ctx, plan, refusal)
		}
		return plan, plan.outcome(), err == nil && !plan.outcome().Complete(), err
	})
}

// decideCommit decides as Promote does, about the components alone.
func (c *Controller) decideCommit(ctx context.Context, r Promotion, components []string, commit string) (movePlan, error) {
	s, err := c.snapshot(ctx, r.Project, "")
	if err != nil {
		return movePlan{}, err
	}
	s.Components = slices.DeleteFunc(s.Components, func(f componentFacts) bool { return !slices.Contains(components, f.Name) })
	for _, f := range s.Components {
		if f.Releases[f.Staging.spec.ReleaseName].Commit != commit {
			return movePlan{}, Refuse("superseded: %s moved on from %s of %s meanwhile; nothing was promoted. Promote what it runs instead.", Staging, ShortSHA(commit), f.Name)
		}
	}
	if err := c.observe(ctx, &s, false); err != nil {
		return movePlan{}, err
	}
	return newPlan(s, r, c.deps.Now()).decided()
}
