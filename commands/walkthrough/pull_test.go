package walkthrough_test

import (
	"context"
	"fmt"

	"platform.dev/platform/flowclient"
)

// pull is a pull request with its review environment, as the flow controller keeps it going.
type pull struct {
	flowclient.Pull
	site   *site
	review *flowclient.Review // nil before it is first looked at, and when it is gone
	build  *build             // of the head, in the review environment
	looked bool
}

func (f *flow) OpenPull(_ context.Context, r flowclient.PullRequest) (flowclient.Pull, error) {
	s := f.sites[r.Project]
	return effect(f, "pull", r.Origin, s, func() (flowclient.Pull, error) {
		c := f.commit(s, r.Title, r.Files)
		s.branched = append(s.branched, c)
		n := len(f.pulls) + 1
		f.pulls = append(f.pulls, &pull{site: s, Pull: flowclient.Pull{
			Repo: "platform/" + s.project, Number: n, Title: r.Title, State: flowclient.PullOpen, Branch: r.Branch, Head: c.SHA, Base: "main", Author: r.Origin.Who,
			URL: fmt.Sprintf("http://git.example/platform/%s/pulls/%d", s.project, n),
		}})
		return f.pulls[n-1].Pull, nil
	})
}

func (f *flow) Merge(_ context.Context, r flowclient.MergeRequest) (flowclient.Pull, error) {
	s := f.sites[r.Project]
	return effect(f, "merge", r.Origin, s, func() (flowclient.Pull, error) {
		p := f.pulls[r.Number-1]
		switch {
		case p.State != flowclient.PullOpen:
			return flowclient.Pull{}, flowclient.Refuse("platform/%s#%d is closed; open it again to merge it.", s.project, p.Number)
		case r.Head != p.Head:
			return flowclient.Pull{}, flowclient.Refuse("the head of #%d is %s now, not %s; look at it and merge again.", p.Number, p.Head, r.Head)
		}
		c := f.push(s, fmt.Sprintf("Merge pull request #%d", p.Number), s.at(p.Head).files)
		p.State, p.Merged, p.MergeCommit = flowclient.PullClosed, true, c.SHA
		return p.Pull, nil
	})
}

func (f *flow) Build(_ context.Context, run string) (flowclient.Build, error) {
	for _, s := range f.sites {
		for _, b := range s.builds {
			if b.Run == run {
				return b.Build, nil
			}
		}
	}
	return flowclient.Build{}, &flowclient.NotFound{Kind: "build", Name: run}
}

func (f *flow) Reviews(context.Context) ([]flowclient.Review, error) {
	var all []flowclient.Review
	for _, p := range f.pulls {
		if p.review != nil {
			all = append(all, *p.review)
		}
	}
	return all, nil
}

// reconcile takes a pull request's environment one step towards what the pull request asks for.
func (f *flow) reconcile(p *pull) {
	environment := fmt.Sprintf("pr-%d", p.Number)
	switch r := p.review; {
	case r == nil && p.State != flowclient.PullOpen:
	case r == nil && !p.looked:
		p.looked = true // deliveries take their time
	case r == nil:
		fork := p.site.project + "-web-" + environment
		p.build = f.build(p.site, fork, p.Head)
		p.review = &flowclient.Review{Project: p.site.project, Repo: p.Repo, Number: p.Number, Environment: environment, State: flowclient.ReviewCreating,
			Head: p.Head, Message: p.site.project + "-web is being built", Run: p.build.Run, Active: f.now}
	case p.State != flowclient.PullOpen && r.State != flowclient.ReviewDestroying:
		r.State, r.URL, r.Message = flowclient.ReviewDestroying, "", "the pull request was merged"
	case r.State == flowclient.ReviewDestroying && p.site.bound[environment] != "" && !f.stays:
		delete(p.site.bound, environment)
	case r.State == flowclient.ReviewDestroying:
		p.review = nil
	case p.build.Phase == flowclient.BuildFailed:
		r.State, r.Message = flowclient.ReviewFailed, p.site.project+"-web: its build failed in stage "+p.build.FailedStage
	case p.build.Phase == flowclient.BuildSucceeded:
		p.site.bound[environment] = p.Head
		r.State, r.Message, r.URL = flowclient.ReviewPresent, "", "http://"+environment+"-"+p.site.project+".apps.example:19080/"+p.site.project+"-web-http"
	}
}
