package runtime

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/name"
)

// Apply makes d run and says how it stands. A site is served when Apply
// returns; a process only starts, and Config.Changed tells when it is worth
// asking again. What cannot run is not Ready, with the reason, while whatever
// the name ran before goes on answering. The error is one of this machine (the
// disk) or of ctx. Applies of a name take turns.
func (s *Server) Apply(ctx context.Context, d Deployment) (DeploymentStatus, error) {
	unlock, err := s.names.lock(ctx, d.Name)
	if err != nil {
		return DeploymentStatus{}, fmt.Errorf("apply %s: %w", d.Name, err)
	}
	defer unlock()
	s.cells.counts(d)
	status, err := s.run(ctx, d)
	var p *problem
	switch {
	case err == nil:
		s.settled(d.Name)
		return status, nil
	case !errors.As(err, &p):
		return DeploymentStatus{}, fmt.Errorf("apply %s: %w", d.Name, err)
	}
	if p.again {
		s.again(d.Name)
	} else {
		s.settled(d.Name)
	}
	s.abandon(d.Name)
	status = DeploymentStatus{Reason: p.reason, Message: p.message}
	if before := s.now(d.Name); before.handler != nil {
		status.Message += "; " + before.image + " goes on answering"
		status.Endpoints = before.plan.urls(s.cfg.Port)
	}
	return status, nil
}

// run does what the component type asks for.
func (s *Server) run(ctx context.Context, d Deployment) (DeploymentStatus, error) {
	if d.Type != StaticSite {
		return s.runService(ctx, d)
	}
	return s.runSite(ctx, d)
}

// runSite does the steps of a site's Apply, each repeatable: fetch, record, bind.
func (s *Server) runSite(ctx context.Context, d Deployment) (DeploymentStatus, error) {
	p, err := planOf(d, s.cfg.Domain)
	if err != nil {
		return DeploymentStatus{}, err
	}
	ref, err := digestRef(d)
	if err != nil {
		return DeploymentStatus{}, err
	}
	digest := ref.DigestStr()
	defer s.want(digest)()
	site, err := s.open(ctx, ref)
	if err != nil {
		return DeploymentStatus{}, err
	}
	for _, r := range p.routes {
		if err := (mount{site, r.base}).check(); err != nil {
			return DeploymentStatus{}, because(ReasonIndexMissing, "image %s does not answer at %s: %w", ref, r.base, err)
		}
	}
	// The record comes first: after a crash here, Collect spares the image.
	if err := writeRecord(s.recordsDir(), d.Name, digest); err != nil {
		return DeploymentStatus{}, err
	}
	err = s.bind(d.Name, running{
		key: digest, plan: p, image: ref.String(),
		handler: func(r planned) http.Handler { return mount{site, r.base} },
	})
	if err != nil {
		return DeploymentStatus{}, err
	}
	s.dismiss(d.Name) // the process that answered under the name, if its type was another
	return DeploymentStatus{Ready: true, Reason: ReasonServing, Message: "serves " + ref.String(), Endpoints: p.urls(s.cfg.Port)}, nil
}

// digestRef is the deployment's image, which must be given by digest.
func digestRef(d Deployment) (name.Digest, error) {
	ref, err := name.NewDigest(d.Workload.Container.Image, name.StrictValidation)
	if err != nil {
		return name.Digest{}, because(ReasonImageInvalid, "image %q is not a reference by digest: %w", d.Workload.Container.Image, err)
	}
	return ref, nil
}

// bind routes the name to next and takes away the routes that it has no longer.
func (s *Server) bind(name string, next running) error {
	before := s.now(name)
	for i, r := range next.plan.routes {
		if err := s.cfg.Routes.Bind(next.plan.host, r.prefix, name, next.handler(r)); err != nil {
			s.unbind(name, before, running{plan: plan{next.plan.host, next.plan.routes[:i]}})
			return because(ReasonPathTaken, "%w", err)
		}
	}
	for _, r := range before.plan.routes {
		if !next.plan.has(before.plan.host, r.prefix) {
			s.cfg.Routes.Unbind(before.plan.host, r.prefix, name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[name] = next
	s.refer(name, next.key)
	return nil
}

// unbind gives the routes that half a bind took back to what ran before.
func (s *Server) unbind(name string, before, taken running) {
	for _, r := range taken.plan.routes {
		if !before.plan.has(taken.plan.host, r.prefix) {
			s.cfg.Routes.Unbind(taken.plan.host, r.prefix, name)
		}
	}
	for _, r := range before.plan.routes {
		if taken.plan.has(before.plan.host, r.prefix) {
			// Nothing is between: the name holds the prefix.
			_ = s.cfg.Routes.Bind(before.plan.host, r.prefix, name, before.handler(r))
		}
	}
}

// Remove stops what runs under a name and waits until no process of it is
// left; an unknown name is no error. The image and the log stay until Collect.
func (s *Server) Remove(ctx context.Context, name string) error {
	unlock, err := s.names.lock(ctx, name)
	if err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	defer unlock()
	before := s.now(name)
	for _, r := range before.plan.routes {
		s.cfg.Routes.Unbind(before.plan.host, r.prefix, name)
	}
	s.settled(name)
	if err := s.stop(ctx, name); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	if err := removeRecord(s.recordsDir(), name); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, name)
	s.refer(name, "")
	s.cells.ends(name)
	return nil
}

// now is what runs under the name in this process; zero when nothing does.
func (s *Server) now(name string) running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[name]
}

// refer notes that name now runs digest ("" for nothing), and since when the
// one it ran before is unused. The caller holds mu.
func (s *Server) refer(name, digest string) {
	before := s.records[name]
	if digest == "" {
		delete(s.records, name)
	} else {
		s.records[name] = digest
		delete(s.released, digest)
	}
	if before != digest {
		s.release(before)
	}
}

// release starts the time of an image that no name runs. The caller holds mu.
func (s *Server) release(digest string) {
	_, already := s.released[digest]
	if digest == "" || already {
		return
	}
	for _, used := range s.records {
		if used == digest {
			return
		}
	}
	s.released[digest] = s.cfg.Now()
}

// want keeps Collect from a digest until the returned function is called.
func (s *Server) want(digest string) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted[digest]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.wanted[digest]--; s.wanted[digest] == 0 {
			delete(s.wanted, digest)
			s.release(digest) // pulled, and found unfit
		}
	}
}
