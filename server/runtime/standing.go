package runtime

import (
	"errors"
	"fmt"
)

// status is how the service stands: as its version to come when there is one,
// else as the one that answers.
func (v *service) status() DeploymentStatus {
	before := v.s.now(v.name)
	v.mu.Lock()
	defer v.mu.Unlock()
	n := v.next
	if n == nil {
		n = v.current
	}
	if n == nil {
		return DeploymentStatus{Reason: ReasonStarting, Message: "is being stopped"}
	}
	status := n.status()
	if before.handler != nil {
		status.Endpoints = before.plan.urls(v.s.cfg.Port)
	}
	if !status.Ready && n != v.current && before.handler != nil {
		status.Message += "; " + before.image + " goes on answering"
	}
	return status
}

// status is how the version stands. The caller holds the service's mu.
func (n *version) status() DeploymentStatus {
	var p *problem
	switch {
	case n.up != nil && errors.As(n.conflict, &p):
		return DeploymentStatus{Reason: p.reason, Message: p.message}
	case n.up != nil && n.conflict != nil:
		return DeploymentStatus{Reason: ReasonPathTaken, Message: n.conflict.Error()}
	case n.up != nil && n != n.service.current:
		return DeploymentStatus{Reason: ReasonStarting, Message: fmt.Sprintf("%s is ready and takes its routes", n.spec.image)}
	case n.up != nil:
		return DeploymentStatus{Ready: true, Reason: ReasonServing, Message: n.serves()}
	case n.reason != "":
		return DeploymentStatus{Reason: n.reason, Message: fmt.Sprintf("%s (failed %s in a row; it is started again, each time after a longer pause of at most %s)", n.message, times(n.failures), longestPause)}
	}
	return DeploymentStatus{Reason: ReasonStarting, Message: fmt.Sprintf("%s is started and asked for %s until it answers, for at most %s",
		n.spec.image, n.spec.plan.routes[0].base, n.service.s.cfg.Times.Start)}
}

// serves says what a version does that is ready, and what there is to know of it.
func (n *version) serves() string {
	text := "runs " + n.spec.image
	if restarts := n.starts - 1; restarts > 0 {
		text += fmt.Sprintf("; restarted %s, the last time since %s", times(restarts), n.message)
	}
	if enforced, why := n.service.s.Limits(); !enforced && n.spec.memory > 0 {
		text += fmt.Sprintf("; its memory limit of %d MiB is not kept: %s", n.spec.memory>>20, why)
	}
	return text
}

// times counts in words.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
