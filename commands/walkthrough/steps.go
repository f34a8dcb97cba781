package walkthrough

import (
	"context"
	"errors"
	"fmt"

	"platform.dev/platform/flowclient"
)

// lines is how many lines of a log are shown.
const lines = 40

// lockReason is why the walkthrough locks a commit; the refusal must name it.
const lockReason = "the walkthrough shows that a locked commit stays out of production"

// staticSteps is the static walkthrough: what happens, and what must be so at
// the end of each step. Everything a step makes, it makes under an origin key
// of its own, so that a step taken again after a restart makes it once.
func staticSteps() []step {
	return []step{
		{"started", "the walkthrough starts", "it can be told in this topic", started},
		{"scaffolded", "a project is made from the template", "it has a repository with a first commit", scaffolded},
		{"built", "the first push is built", "its build has passed", built},
		{"staging", "staging answers", "the page in staging shows the pushed heading and commit", staging},
		{"promoted", "staging is promoted to production", "production shows the same page", promoted},
		{"changed", "a second push changes the page", "staging shows the change and production does not", changed},
		{"locked", "the commit is locked", "its promotion is refused with the reason and who", locked},
		{"unlocked", "the lock is cleared and the commit promoted", "production shows the change", unlocked},
		{"rolledback", "production is rolled back", "production shows the first page again", rolledBack},
		{"proposed", "a pull request changes the page", "its review environment shows the change and staging does not", proposed},
		{"merged", "the pull request is merged", "its review environment is gone and staging shows the change", merged},
		{"broken", "a push breaks its own tests", "its build fails in a stage of its own and staging is unchanged", broken},
	}
}

// started says what will happen.
func started(_ context.Context, r *run) (outcome, error) {
	return tellStarted(r), nil
}

// scaffolded makes the project.
func scaffolded(ctx context.Context, r *run) (outcome, error) {
	made, err := r.bot.Author.Scaffold(ctx, flowclient.ScaffoldRequest{
		Origin: r.origin("scaffold"), Template: r.w.Template, Project: r.w.Project, Walkthrough: true,
	})
	if err != nil {
		return outcome{}, err
	}
	if len(made.Components) == 0 {
		return outcome{}, errors.New("the template made no component")
	}
	r.s.Repository, r.s.Component = made.Repository, made.Components[0]
	r.s.First = page{Heading: r.w.Project, Commit: made.Commit.SHA}
	return tellScaffolded(r, made), nil
}

// built waits for the build of the first commit.
func built(ctx context.Context, r *run) (outcome, error) {
	b, err := r.build(ctx, r.s.First.Commit, flowclient.BuildSucceeded)
	if err != nil {
		return outcome{}, err
	}
	return tellBuilt(r, b, r.log(ctx, b.Run, "", lines)), nil
}

// staging waits until staging shows the first page.
func staging(ctx context.Context, r *run) (outcome, error) {
	d, err := r.shows(ctx, flowclient.Staging, r.s.First)
	if err != nil {
		return outcome{}, err
	}
	r.s.Staging = d.URL
	return tellStaging(r, d, r.made(ctx, d)), nil
}

// promoted moves the first page to production.
func promoted(ctx context.Context, r *run) (outcome, error) {
	moved, err := r.promote(ctx, "promote")
	if err != nil {
		return outcome{}, err
	}
	d, err := r.shows(ctx, flowclient.Production, r.s.First)
	if err != nil {
		return outcome{}, err
	}
	r.s.Production = d.URL
	return tellPromoted(r, d, moved, r.made(ctx, d)), nil
}

// changed pushes another heading and compares the environments.
func changed(ctx context.Context, r *run) (outcome, error) {
	heading := r.w.Project + ", second edition"
	c, err := r.push(ctx, "second", "Change the heading", heading, "")
	if err != nil {
		return outcome{}, err
	}
	r.s.Second = page{Heading: heading, Commit: c.SHA}
	b, err := r.build(ctx, c.SHA, flowclient.BuildSucceeded)
	if err != nil {
		return outcome{}, err
	}
	d, err := r.shows(ctx, flowclient.Staging, r.s.Second)
	if err != nil {
		return outcome{}, err
	}
	if err := r.still(ctx, flowclient.Production, r.s.Production, r.s.First); err != nil {
		return outcome{}, err
	}
	return tellChanged(r, c, b, d, r.log(ctx, b.Run, "", lines)), nil
}

// locked locks the second commit and asks for its promotion all the same.
func locked(ctx context.Context, r *run) (outcome, error) {
	lock, err := r.bot.Locker.SetLock(ctx, flowclient.LockRequest{
		Origin: r.origin("lock"), Component: r.s.Component, Commit: r.s.Second.Commit, Environment: flowclient.Production, Reason: lockReason,
	})
	if err != nil {
		return outcome{}, err
	}
	moved, err := r.bot.Promoter.Promote(ctx, flowclient.Promotion{Origin: r.origin("locked"), Project: r.w.Project, Component: r.s.Component})
	var refusal *flowclient.Refusal
	switch {
	case err == nil:
		return outcome{}, &missed{Expected: "the promotion is refused", Seen: "it was not: " + sentences(moved)}
	case !errors.As(err, &refusal):
		return outcome{}, err
	case !names(refusal.Sentence, lock.Reason) || !names(refusal.Sentence, lock.Who):
		return outcome{}, &missed{Expected: fmt.Sprintf("the refusal names the reason %q and who set the lock (%s)", lock.Reason, lock.Who), Seen: refusal.Sentence}
	}
	if err := r.still(ctx, flowclient.Production, r.s.Production, r.s.First); err != nil {
		return outcome{}, err
	}
	return tellLocked(r, lock, refusal), nil
}

// unlocked clears the lock and promotes the second page.
func unlocked(ctx context.Context, r *run) (outcome, error) {
	cleared, err := r.bot.Locker.ClearLock(ctx, flowclient.LockRequest{
		Origin: r.origin("unlock"), Component: r.s.Component, Commit: r.s.Second.Commit, Environment: flowclient.Production,
	})
	if err != nil {
		return outcome{}, err
	}
	moved, err := r.promote(ctx, "promote-second")
	if err != nil {
		return outcome{}, err
	}
	d, err := r.shows(ctx, flowclient.Production, r.s.Second)
	if err != nil {
		return outcome{}, err
	}
	return tellUnlocked(r, cleared, d, moved, r.made(ctx, d)), nil
}

// rolledBack returns production to the first page.
func rolledBack(ctx context.Context, r *run) (outcome, error) {
	moved, err := r.bot.Promoter.Rollback(ctx, flowclient.Promotion{Origin: r.origin("rollback"), Project: r.w.Project, Component: r.s.Component})
	if err != nil {
		return outcome{}, err
	}
	d, err := r.shows(ctx, flowclient.Production, r.s.First)
	if err != nil {
		return outcome{}, err
	}
	return tellRolledBack(r, d, moved, r.made(ctx, d)), nil
}

// broken pushes a page whose link leads nowhere, which the project's own tests refuse.
func broken(ctx context.Context, r *run) (outcome, error) {
	c, err := r.push(ctx, "broken", "Link to a page that is not there", r.w.Project+", fourth edition", "nowhere.html")
	if err != nil {
		return outcome{}, err
	}
	b, err := r.build(ctx, c.SHA, flowclient.BuildFailed)
	if err != nil {
		return outcome{}, err
	}
	if b.FailedStage == "" {
		return outcome{}, &missed{Expected: "the build has failed in a stage of its own", Seen: "build " + b.Run + " failed and names no stage: " + b.Message}
	}
	if err := r.still(ctx, flowclient.Staging, r.s.Staging, r.s.Third); err != nil {
		return outcome{}, err
	}
	return tellBroken(r, c, b, r.log(ctx, b.Run, b.FailedStage, lines)), nil
}
