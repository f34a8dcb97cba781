package controlplane

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

// deliveriesKept is how long a delivery is remembered. No git server repeats one later by itself.
const deliveriesKept = 30 * 24 * time.Hour

// deliveryHeaders name a delivery, first one present.
var deliveryHeaders = []string{"X-Gitea-Delivery", "X-GitHub-Delivery", "X-Gogs-Delivery", "X-Gitlab-Event-UUID", "X-Request-UUID"}

// autobuildAnswer is the answer to a delivery.
type autobuildAnswer struct {
	Affected  []string `json:"affectedComponents"` // "default/web"
	Message   string   `json:"message"`
	Success   bool     `json:"success"`
	Triggered int      `json:"triggeredBuilds"`
}

// autobuild answers POST /api/v1alpha1/autobuild: it starts one run for each
// component that a push touches. A delivery that was answered before gets the same answer and starts nothing.
func (s *Server) autobuild(w http.ResponseWriter, r *http.Request) {
	p, err := s.readDelivery(r)
	if err != nil {
		s.answer(w, r, err)
		return
	}
	if p.partial {
		s.completeTouched(r.Context(), &p)
	}
	var answer autobuildAnswer
	err = s.commit(r.Context(), "autobuild", func(t *tx) error {
		id := deliveryID(r.Header)
		known, err := t.delivered(id, &answer)
		if err != nil || known {
			return err
		}
		if answer, err = t.startBuilds(p); err != nil {
			return err
		}
		return t.remember(id, answer)
	})
	if err != nil {
		s.answer(w, r, err)
		return
	}
	web.JSON(w, http.StatusOK, answer)
}

// readDelivery proves who sent a delivery before anything in it is read.
func (s *Server) readDelivery(r *http.Request) (push, error) {
	d, err := providerOf(r.Header)
	if err != nil {
		return push{}, err
	}
	raw, err := body(r)
	if err != nil {
		return push{}, err
	}
	signed, payload, err := web.SignedPart(r.Header, raw)
	if err != nil {
		return push{}, bad(http.StatusBadRequest, "payload", "", "is missing from the form")
	}
	if err := verify(r.Header, signed, s.secret); err != nil {
		return push{}, err
	}
	return readPush(d, payload)
}

// completeTouched replaces a partial list of files by the whole one, or by
// none, which builds every component: one build too many is better than one missed.
func (s *Server) completeTouched(ctx context.Context, p *push) {
	p.touched = nil
	if s.touched == nil || p.before == "" || zeros.MatchString(p.before) {
		return
	}
	files, err := s.touched(ctx, p.repository, p.before, p.after)
	if err != nil {
		s.log.Warn("touched files", "repository", p.repository, "error", err)
		return
	}
	p.touched = files
}

func deliveryID(h http.Header) string {
	for _, name := range deliveryHeaders {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// delivered reads the recorded answer to a delivery, where there is one.
func (t *tx) delivered(id string, answer *autobuildAnswer) (bool, error) {
	if id == "" {
		return false, nil
	}
	var recorded string
	err := t.QueryRowContext(t.ctx, `SELECT answer FROM deliveries WHERE id = ?`, id).Scan(&recorded)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal([]byte(recorded), answer)
}

// remember records the answer to a delivery and forgets old ones.
func (t *tx) remember(id string, answer autobuildAnswer) error {
	if id == "" {
		return nil
	}
	raw, err := encode(answer)
	if err != nil {
		return err
	}
	t.wrote = true
	if _, err := t.ExecContext(t.ctx, `INSERT INTO deliveries (id, at, answer) VALUES (?, ?, ?)`, id, t.now.UnixMilli(), string(raw)); err != nil {
		return err
	}
	_, err = t.ExecContext(t.ctx, `DELETE FROM deliveries WHERE at < ?`, t.now.Add(-deliveriesKept).UnixMilli())
	return err
}

// startBuilds makes a run for each component that the push concerns.
func (t *tx) startBuilds(p push) (autobuildAnswer, error) {
	answer := autobuildAnswer{Affected: []string{}, Message: "Webhook processed successfully", Success: true}
	if p.warning != "" {
		answer.Message += "; warning: " + p.warning
	}
	if p.ignored != "" {
		answer.Message += ": " + p.ignored
		return answer, nil
	}
	components, err := t.find(selection{kind: flowclient.KindComponent, refs: map[string]string{refRepository: foldURL(p.repository)}})
	if err != nil {
		return answer, err
	}
	for _, c := range components {
		spec, err := decode[flowclient.ComponentSpec](c.spec)
		if err != nil {
			return answer, err
		}
		if c.deleted != nil || !p.concerns(spec) {
			continue
		}
		if err := t.startBuild(c, spec, p.after); err != nil {
			return answer, err
		}
		answer.Affected = append(answer.Affected, t.s.namespace+"/"+c.name)
	}
	answer.Triggered = len(answer.Affected)
	return answer, nil
}

// concerns tells whether a push builds a component. A component without a branch follows the repository's default one.
func (p push) concerns(c flowclient.ComponentSpec) bool {
	if !c.AutoBuild || c.Workflow == nil {
		return false
	}
	repository := c.Workflow.Parameters.Repository
	branch := repository.Revision.Branch
	if branch == "" {
		branch = p.defaultBranch
	}
	if p.branch != "" && branch != "" && branch != p.branch {
		return false
	}
	return touches(repository.AppPath, p.touched)
}

// startBuild makes the run of a component at a commit; "" builds the head of its branch.
func (t *tx) startBuild(c object, spec flowclient.ComponentSpec, commit string) error {
	raw, _ := c.field("workflow")
	workflow, err := membersOf(raw)
	if err != nil {
		return err
	}
	if commit != "" {
		revision, err := within(workflow, "parameters", "repository", "revision")
		if err != nil {
			return err
		}
		revision["commit"] = commit
	}
	run := object{
		kind: flowclient.KindWorkflowRun,
		labels: inherit(c, map[string]string{
			flowclient.LabelProject: spec.Owner.ProjectName, flowclient.LabelComponent: c.name, flowclient.LabelCommit: commit,
		}),
	}
	if run.spec, err = canonical(map[string]any{"workflow": workflow}); err != nil {
		return err
	}
	for {
		run.name = c.name + "-run-" + randomHex()
		if _, err := t.get(run.kind, run.name); isMissing(err) {
			return t.insert(&run)
		} else if err != nil {
			return err
		}
	}
}
