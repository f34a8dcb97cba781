package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"platform.dev/platform/announcer"
	"platform.dev/platform/bots"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/gitea"
	"platform.dev/platform/flowclient/openchoreo"
	"platform.dev/platform/flowclient/store"
	"platform.dev/platform/flowclient/telemetry"
	"platform.dev/platform/flowclient/wire"
	"platform.dev/platform/server/chat"
	"platform.dev/platform/server/controlplane"
	"platform.dev/platform/server/flow"
	"platform.dev/platform/server/gateway"
	"platform.dev/platform/server/git"
	"platform.dev/platform/server/registry"
	"platform.dev/platform/server/runtime"
	"platform.dev/platform/server/web"
	"platform.dev/platform/server/workflow"
)

// rooms are the parts, in the order in which they are opened.
type rooms struct {
	tokens   tokens
	store    *store.Store
	chat     *chat.Server
	accounts []account
	git      *git.Server
	registry *registry.Server
	workflow *workflow.Server
	gateway  *gateway.Server
	runtime  *runtime.Server
	api      *controlplane.Server

	dataPlane *web.Memory // where the runtime tells of its cells; nil: a cluster does
	cells     flowclient.Cells

	telemetry  instruments
	recorder   *recorder
	compaction *compaction

	plane      *openchoreo.Client
	repos      *gitea.Client
	controller *flowclient.Controller
	announcer  *announcer.Announcer
	announcing bool // there are credentials to announce with
	bots       []bot
	people     *bots.PeopleFile // nil until the bots are opened
	notes      []string

	closers []func() error
}

// tokens are the secrets of this data directory, each in a file of its own.
type tokens struct {
	api, flow, git, gitRead, registry, hooks, observer string
}

func (r *rooms) open(ctx context.Context, p *Platform) error {
	for _, step := range []struct {
		name string
		open func(context.Context, *Platform) error
	}{
		{"secrets", r.openTokens},
		{"telemetry", r.openTelemetry},
		{"store", r.openStore},
		{"chat", r.openChat},
		{"git server", r.openGit},
		{"registry", r.openRegistry},
		{"workflow engine", r.openWorkflow},
		{"runtime", r.openRuntime},
		{"data plane", r.openCells},
		{"control plane", r.openControlPlane},
		{"controller", r.openController},
		{"recorder", r.openRecorder},
		{"bots", r.openBots},
		{"compaction", r.openCompaction},
	} {
		if err := step.open(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// close closes what open opened, the last first.
func (r *rooms) close() error {
	var errs []error
	for i := len(r.closers) - 1; i >= 0; i-- {
		errs = append(errs, r.closers[i]())
	}
	r.closers = nil
	return errors.Join(errs...)
}

func (r *rooms) closing(f func() error) { r.closers = append(r.closers, f) }

func (r *rooms) openTokens(_ context.Context, p *Platform) error {
	for name, to := range map[string]*string{
		"api.token": &r.tokens.api, "flow.token": &r.tokens.flow, "git.token": &r.tokens.git,
		"git-read.token": &r.tokens.gitRead, "registry.token": &r.tokens.registry, "hooks.secret": &r.tokens.hooks,
		"observer.token": &r.tokens.observer,
	} {
		secret, err := p.data.Secret(name)
		if err != nil {
			return err
		}
		*to = secret
	}
	return nil
}

func (r *rooms) openStore(ctx context.Context, p *Platform) (err error) {
	if r.store, err = store.Open(ctx, p.data.Path("flow.db"), p.cfg.Committed); err == nil {
		r.closing(r.store.Close)
	}
	return err
}

func (r *rooms) openChat(ctx context.Context, p *Platform) (err error) {
	r.chat, err = chat.New(ctx, chat.Config{
		Path: p.data.Path("chat.db"), URL: p.ports.URL("chat"), Realm: "Platform", OpenPages: true,
		Committed: p.cfg.Committed, Now: p.cfg.Now, Log: p.log.With("part", "chat"),
	})
	if err != nil {
		return err
	}
	r.closing(r.chat.Close)
	p.doors["chat"].handler = guard("chat", r.chat.Handler())
	r.accounts, err = people(ctx, p.data, r.chat, p.ports.URL("chat"))
	return err
}

func (r *rooms) openGit(ctx context.Context, p *Platform) (err error) {
	dir, err := p.data.Sub("git")
	if err != nil {
		return err
	}
	r.git, err = git.New(ctx, git.Config{
		Dir: dir, Path: p.data.Path("git.db"), BaseURL: p.ports.URL("git"),
		AdminUser: gitAdmin, Organization: organisation, AdminToken: r.tokens.git, ReadToken: r.tokens.gitRead,
		OpenPages: true, HookDelivery: !p.cfg.NoHooks,
		Committed: p.cfg.Committed, Now: p.cfg.Now, Log: p.log.With("part", "git"),
	})
	if err != nil {
		return err
	}
	r.closing(r.git.Close)
	p.doors["git"].handler = guard("git", r.git.Handler())
	// git's own store format, for people: git -c credential.helper="store --file=<data>/git-credentials" clone ...
	line := fmt.Sprintf("http://%s:%s@%s\n", gitAdmin, r.tokens.git, p.ports.Addr("git"))
	return WriteFile(p.data.Path("git-credentials"), []byte(line), 0o600)
}

func (r *rooms) openRegistry(ctx context.Context, p *Platform) (err error) {
	dir, err := p.data.Sub("registry")
	if err != nil {
		return err
	}
	r.registry, err = registry.New(ctx, registry.Config{Dir: dir, Token: r.tokens.registry, Now: p.cfg.Now, Log: p.log.With("part", "registry")})
	if err != nil {
		return err
	}
	r.closing(r.registry.Close)
	p.doors["registry"].handler = guard("registry", r.registry.Handler())
	return nil
}

func (r *rooms) openWorkflow(ctx context.Context, p *Platform) (err error) {
	dir, err := p.data.Sub("workflow")
	if err != nil {
		return err
	}
	r.workflow, err = workflow.New(ctx, workflow.Config{
		Dir: dir, Path: p.data.Path("workflow.db"), Module: p.ports.URL("git") + "/" + pipelineRepo + ".git",
		Registry: p.ports.Addr("registry"), RegistryUser: "platform", RegistryToken: r.tokens.registry, RegistryTransport: web.Propagate(p.transport("registry")),
		Credentials: func(secretRef string) (string, string, bool) {
			return gitAdmin, r.tokens.gitRead, secretRef == readSecret
		},
		Changed:   func(run string) { r.api.Wake(flowclient.KindWorkflowRun, run) },
		Logged:    r.telemetry.buildLine,
		Committed: p.cfg.Committed, Now: p.cfg.Now, Log: p.log.With("part", "workflow"),
	})
	if err != nil {
		return err
	}
	r.closing(r.workflow.Close)
	p.doors["workflow"].handler = guard("workflow", r.workflow.Handler())
	return nil
}

func (r *rooms) openRuntime(ctx context.Context, p *Platform) (err error) {
	dir, err := p.data.Sub("runtime")
	if err != nil {
		return err
	}
	r.gateway = gateway.New(gateway.Config{})
	p.doors["gateway"].handler = r.gateway.Handler()
	r.runtime, err = runtime.New(ctx, runtime.Config{
		Dir: dir, Domain: Domain, Port: p.ports.Port("gateway"), Routes: r.gateway, RegistryTransport: web.Propagate(p.transport("registry")),
		Logged:  r.telemetry.processLine,
		Changed: func(name string) { r.api.Wake(flowclient.KindReleaseBinding, name) },
		Now:     p.cfg.Now, Log: p.log.With("part", "runtime"),
	})
	if err != nil {
		return err
	}
	r.closing(r.runtime.Close)
	if enforced, why := r.runtime.Limits(); !enforced {
		r.notes = append(r.notes, why)
	}
	return r.openUsage()
}

func (r *rooms) openControlPlane(ctx context.Context, p *Platform) (err error) {
	r.api, err = controlplane.New(ctx, controlplane.Config{
		Path: p.data.Path("controlplane.db"), Namespace: namespace, Token: r.tokens.api, WebhookSecret: r.tokens.hooks,
		Builder: builder{r.workflow}, Runtime: deployer{r.runtime, r.telemetry.places.put}, Touched: r.git.Touched,
		Changed:   r.changed,
		Committed: p.cfg.Committed, Now: p.cfg.Now, Log: p.log.With("part", "control plane"),
	})
	if err != nil {
		return err
	}
	r.closing(r.api.Close)
	p.doors["api"].handler = guard("api", r.api.Handler())
	r.plane, err = openchoreo.New(openchoreo.Config{
		BaseURL: p.ports.URL("api"), Namespace: namespace, Token: r.tokens.api, Transport: web.Propagate(p.transport("api")), Log: p.log,
	})
	return err
}

func (r *rooms) openController(ctx context.Context, p *Platform) (err error) {
	scratch, err := p.data.Sub("scratch")
	if err != nil {
		return err
	}
	// Scratch is what commits are made in; a killed process leaves some behind.
	if err := os.RemoveAll(scratch); err != nil {
		return err
	}
	if scratch, err = p.data.Sub("scratch"); err != nil {
		return err
	}
	r.repos, err = gitea.New(gitea.Config{
		BaseURL: p.ports.URL("git"), Token: r.tokens.git, User: gitAdmin, Transport: web.Propagate(p.transport("git")), Dir: scratch, Now: p.cfg.Now, Log: p.log,
	})
	if err != nil {
		return err
	}
	observer := p.ports.URL("observer")
	traces, err := telemetry.New(telemetry.Config{Tempo: observer, Loki: observer, Transport: p.transport("observer"), Log: p.log})
	if err != nil {
		return err
	}
	r.controller, err = flowclient.New(flowclient.Deps{
		ControlPlane: r.plane, Git: r.repos, Cluster: host{free: p.cfg.Free}, Cells: r.cells, Prober: newProber(),
		Journal: r.store, Locks: r.store, Freezes: r.store, Sightings: r.store, Runs: walks{r.store, r}, Traces: r.store,
		Pulls: r.repos, Reviews: r.store, Applied: r.store, History: r.store, Standings: r.store, Telemetry: traces,
		Templates: p.cfg.Templates, Settings: r.settings(p), Noted: r.noted, Now: p.cfg.Now, Log: p.log.With("part", "controller"),
	})
	if err != nil {
		return err
	}
	handler, err := flow.New(flow.Config{
		Flow: r.controller, Token: r.tokens.flow, WebhookSecret: r.tokens.hooks, Deliveries: r.store,
		Pushed: r.pushed, Generation: r.controller.Generation,
		Health: func() error { return errors.Join(r.controller.Health(p.cfg.Now()), r.deaf(p.cfg.Now(), p.cfg.Confirm)) }, Now: p.cfg.Now, Log: p.log.With("part", "flow"),
	})
	if err != nil {
		return err
	}
	p.doors["flow"].handler = checked("flow", handler.Handler())
	return nil
}

// settings are the controller's: the hooks of every repository, and the names it uses.
func (r *rooms) settings(p *Platform) flowclient.Settings {
	return flowclient.Settings{
		Owner: organisation,
		Hooks: []flowclient.HookTarget{
			{URL: p.ports.URL("api") + "/api/v1alpha1/autobuild", Secret: r.tokens.hooks, Events: []string{"push"}},
			{URL: p.ports.URL("flow") + wire.SyncPath, Secret: r.tokens.hooks, Events: []string{"push"}},
			{URL: p.ports.URL("flow") + wire.HookPath, Secret: r.tokens.hooks, Events: []string{"pull_request"}},
		},
		BuildPage: func(run string) string { return p.ports.URL("workflow") + "/runs/" + run },
		SecretRef: readSecret,
		ModuleRef: "#main",
		Floors:    flowclient.DefaultFloors(),

		Watched:    true, // every write of the embedded control plane is told to changed
		MaxReviews: p.cfg.MaxReviews,
		ReviewTTL:  p.cfg.ReviewTTL,

		DefaultSoak:    p.cfg.DefaultSoak,
		KeepHistory:    p.cfg.keep().History,
		AllowSkipSoak:  p.cfg.AllowSkipSoak,
		CapacityMargin: p.cfg.CapacityMargin,
	}
}

// changed is told of each object that changed in the control plane.
func (r *rooms) changed(kind flowclient.Kind, name string) {
	r.controller.Changed(kind, name)
	if kind == flowclient.KindWorkflowRun {
		r.recorder.changed(name)
	}
}

// pushed is told of each push by the second hook: builds of it are about to be seen.
func (r *rooms) pushed(context.Context, string, string, string) error {
	r.controller.Changed(flowclient.KindWorkflowRun, "")
	return nil
}

// rebase rewrites what is stored with base URLs that have moved; the registry's
// address stands in the names of images without a scheme.
func (r *rooms) rebase(ctx context.Context, moved map[string]string) error {
	prefixes := maps.Clone(moved)
	for from, to := range moved {
		prefixes[strings.TrimPrefix(from, "http://")] = strings.TrimPrefix(to, "http://")
	}
	return errors.Join(r.api.Rebase(ctx, prefixes), r.git.Rebase(ctx, moved), r.chat.Rebase(ctx, movedBase(moved)))
}

// movedBase finds the new base URL for an old one: of a surface, or of an
// application, whose port is the gateway's.
func movedBase(moved map[string]string) func(base string) string {
	return func(base string) string {
		if to, ok := moved[base]; ok {
			return to
		}
		scheme, rest, _ := strings.Cut(base, "://")
		host, port, _ := strings.Cut(rest, ":")
		if to, ok := moved["http://127.0.0.1:"+port]; ok && scheme == "http" && strings.HasSuffix(host, "."+Domain) {
			return "http://" + host + to[strings.LastIndex(to, ":"):]
		}
		return base
	}
}
