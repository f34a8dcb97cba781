package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// closed is a production window that is not open on the day of the test.
func closed() string {
	return time.Now().UTC().AddDate(0, 0, 3).Format("Mon") + " 09:00-17:00 UTC"
}

// moveActs are what moves production, and what keeps it from being moved. Each
// may be done again after it was done, or after it got half way.
var moveActs = map[string]act{
	"promote": {step: true, before: []string{"scaffold"}, do: func(ctx context.Context, p *Platform) error {
		_, err := p.Flow().Promote(ctx, flowclient.Promotion{Origin: origin("promote"), Project: "shop"})
		return errors.Join(err, until(ctx, p, "production", productionBy("developer")))
	}},
	"push": {step: true, before: []string{"scaffold"}, do: func(ctx context.Context, p *Platform) error {
		made, err := p.Flow().Commit(ctx, flowclient.CommitRequest{Origin: origin("push"), Project: "shop", Message: "News", Files: map[string]string{"NEWS.md": "news\n"}})
		return errors.Join(err, until(ctx, p, "staging", stagingRuns(made.SHA)))
	}},
	"promote again": {step: true, before: []string{"scaffold", "promote", "push"}, do: func(ctx context.Context, p *Platform) error {
		_, err := p.Flow().Promote(ctx, flowclient.Promotion{Origin: origin("promote again"), Project: "shop"})
		return errors.Join(err, until(ctx, p, "production", productionDisplaced))
	}},
	"automatic promotion that was parked": {before: []string{"scaffold", "promote", "push"}, least: 7, do: func(ctx context.Context, p *Platform) error {
		parked := happened(flowclient.EventAutoParked)
		told, err := parked(ctx, p)
		if err == nil && !told {
			err = errors.Join(annotate(ctx, p, map[string]string{flowclient.AnnotationPromotion: "auto", flowclient.AnnotationProductionWindow: closed()}),
				until(ctx, p, "the parked set", parked))
		}
		return errors.Join(err, annotate(ctx, p, map[string]string{flowclient.AnnotationProductionWindow: ""}), until(ctx, p, "production", productionBy(flowclient.Automatic)))
	}},
	"automatic promotion without room": {before: []string{"scaffold", "promote", "push"}, least: 6, do: func(ctx context.Context, p *Platform) error {
		refused := happened(flowclient.EventAutoRefused)
		told, err := refused(ctx, p)
		if err == nil && !told {
			err = errors.Join(project(ctx, p, func(o *flowclient.Object) error { return limit(o, "400Mi") }), until(ctx, p, "the quota", limited("400Mi")),
				annotate(ctx, p, map[string]string{flowclient.AnnotationPromotion: "auto"}), until(ctx, p, "the refusal", refused))
		}
		_, forced := p.Flow().Promote(ctx, flowclient.Promotion{Origin: origin("force"), Project: "shop", Force: true})
		return errors.Join(err, forced, until(ctx, p, "production", productionDisplaced))
	}},
	"rollback that is held": {before: []string{"scaffold", "promote", "push", "promote again"}, least: 5, do: func(ctx context.Context, p *Platform) error {
		_, err := p.Flow().Rollback(ctx, flowclient.Promotion{Origin: origin("rollback"), Project: "shop"})
		// From here on the pass would move it forward again, were it not held.
		return errors.Join(err, annotate(ctx, p, map[string]string{flowclient.AnnotationPromotion: "auto"}), until(ctx, p, "the hold", held))
	}},
	"undo": {before: []string{"scaffold", "promote", "push", "promote again"}, least: 4, do: func(ctx context.Context, p *Platform) error {
		_, err := p.Flow().Undo(ctx, flowclient.UndoRequest{Origin: origin("undo"), Project: "shop"})
		return errors.Join(err, until(ctx, p, "the hold", held))
	}},
	"freeze and thaw": {before: []string{"scaffold"}, least: 4, do: func(ctx context.Context, p *Platform) error {
		r := flowclient.FreezeRequest{Origin: origin("freeze"), Project: "shop", Until: time.Now().Add(time.Hour), Reason: "the fair"}
		set, known, err := p.rooms.store.FreezeSet(ctx, "freeze/"+r.Origin.Key+"/set")
		if known {
			r.Until = set.Until // the same request again
		}
		if err == nil {
			set, err = p.Flow().SetFreeze(ctx, r)
		}
		if err == nil {
			_, err = p.Flow().ClearFreeze(ctx, flowclient.FreezeRequest{Origin: origin("thaw"), ID: set.ID})
		}
		return errors.Join(err, settled(ctx, p))
	}},
	"lock and clear": {before: []string{"scaffold"}, least: 4, do: func(ctx context.Context, p *Platform) error {
		commits, err := p.rooms.repos.Commits(ctx, organisation+"/shop", "main", 1)
		if err != nil {
			return err
		}
		r := flowclient.LockRequest{Component: "shop-web", Commit: commits[0].SHA, Reason: "breaks", Origin: origin("lock")}
		cleared, err := happened(flowclient.EventLockCleared)(ctx, p)
		if err == nil && !cleared { // set again after it was cleared, it would be another lock
			_, err = p.Flow().SetLock(ctx, r)
		}
		r.Origin, r.Reason = origin("clear"), ""
		_, clearing := p.Flow().ClearLock(ctx, r)
		return errors.Join(err, clearing, settled(ctx, p))
	}},
	"pin by hand": {before: []string{"scaffold", "promote", "push"}, least: 3, do: func(ctx context.Context, p *Platform) error {
		staging, err := bindingOf(ctx, p, flowclient.Staging)
		if err != nil {
			return err
		}
		_, err = changed(ctx, p, flowclient.KindReleaseBinding, "shop-web-"+flowclient.Production, func(o *flowclient.Object) error {
			var spec flowclient.ReleaseBindingSpec
			err := o.Decode(&spec, nil)
			if spec.ReleaseName = staging.ReleaseName; err == nil {
				o.Spec, err = json.Marshal(spec)
			}
			return err
		})
		return errors.Join(err, until(ctx, p, "the notice", happened(flowclient.EventExternal)))
	}},
}

// changed changes an object as somebody does who does not ask the controller, unless it is so already.
func changed(ctx context.Context, p *Platform, kind flowclient.Kind, name string, change func(o *flowclient.Object) error) (flowclient.Object, error) {
	o, err := p.rooms.plane.Get(ctx, kind, name)
	if err != nil {
		return o, err
	}
	o.Kind = kind
	before := fmt.Sprint(string(o.Spec), o.Metadata.Annotations)
	if err := change(&o); err != nil || before == fmt.Sprint(string(o.Spec), o.Metadata.Annotations) {
		return o, err
	}
	return p.rooms.plane.Update(ctx, o)
}

func project(ctx context.Context, p *Platform, change func(o *flowclient.Object) error) error {
	_, err := changed(ctx, p, flowclient.KindProject, "shop", change)
	return err
}

// annotate sets annotations of the project; an empty value removes one.
func annotate(ctx context.Context, p *Platform, marks map[string]string) error {
	return project(ctx, p, func(o *flowclient.Object) error {
		if o.Metadata.Annotations == nil {
			o.Metadata.Annotations = map[string]string{}
		}
		for name, value := range marks {
			if o.Metadata.Annotations[name] = value; value == "" {
				delete(o.Metadata.Annotations, name)
			}
		}
		return nil
	})
}

// limit gives the project's cells a quota of memory.
func limit(o *flowclient.Object, memory string) error {
	spec := map[string]any{}
	err := json.Unmarshal(o.Spec, &spec)
	spec["parameters"] = map[string]any{"quota": map[string]any{"memory": memory}}
	if err == nil {
		o.Spec, err = json.Marshal(spec)
	}
	return err
}

// limited tells whether production's cell has the quota.
func limited(memory string) func(context.Context, *Platform) (bool, error) {
	return func(ctx context.Context, p *Platform) (bool, error) {
		o, err := p.rooms.plane.Get(ctx, flowclient.KindProjectReleaseBinding, "shop-"+flowclient.Production)
		var status struct{ Namespace string }
		if err == nil {
			err = o.Decode(nil, &status)
		}
		if err != nil || status.Namespace == "" {
			return false, err
		}
		q, _, err := p.rooms.cells.Quota(ctx, status.Namespace)
		want, unread := flowclient.ParseQuantity(flowclient.Memory, memory)
		return q.Hard[flowclient.Memory] == want, errors.Join(err, unread)
	}
}

// happened tells whether there is an event of the kind.
func happened(kind string) func(context.Context, *Platform) (bool, error) {
	return func(ctx context.Context, p *Platform) (bool, error) {
		events, err := p.rooms.store.Events(ctx, 0, 1000)
		for _, e := range events {
			if e.Kind == kind {
				return true, nil
			}
		}
		return false, err
	}
}

func bindingOf(ctx context.Context, p *Platform, environment string) (spec flowclient.ReleaseBindingSpec, err error) {
	o, err := p.rooms.plane.Get(ctx, flowclient.KindReleaseBinding, "shop-web-"+environment)
	if err == nil {
		err = o.Decode(&spec, nil)
	}
	return spec, err
}

// productionBy tells whether production is Ready with what staging runs, promoted by somebody.
func productionBy(who string) func(context.Context, *Platform) (bool, error) {
	return production(func(_, production flowclient.Deployment) bool { return production.PromotedBy == who })
}

// productionDisplaced tells whether production is Ready with what staging runs, and remembers another release.
func productionDisplaced(ctx context.Context, p *Platform) (bool, error) {
	return production(func(_, production flowclient.Deployment) bool { return production.Displaced != "" })(ctx, p)
}

func production(holds func(staging, production flowclient.Deployment) bool) func(context.Context, *Platform) (bool, error) {
	return func(ctx context.Context, p *Platform) (bool, error) {
		d, err := p.Flow().Delivery(ctx)
		runs := map[string]flowclient.Deployment{}
		for _, c := range d.Components {
			for _, e := range c.Environments {
				runs[e.Environment] = e
			}
		}
		staging, production := runs[flowclient.Staging], runs[flowclient.Production]
		return production.Ready && production.Release == staging.Release && holds(staging, production), err
	}
}

// held tells whether the component is held after a rollback.
func held(ctx context.Context, p *Platform) (bool, error) {
	holds, err := p.rooms.store.Holds(ctx)
	return len(holds) == 1 && holds[0].Component == "shop-web", err
}

// stands is how production stands and what the controller remembers, each with
// the number of times it is there: what a kill may neither lose nor double.
func stands(t *testing.T, p *started) map[string]int {
	t.Helper()
	found, ctx := map[string]int{}, t.Context()
	bindings, err := p.rooms.plane.List(ctx, flowclient.KindReleaseBinding, flowclient.Filter{Project: "shop"})
	require.NoError(t, err)
	for _, o := range bindings {
		var spec flowclient.ReleaseBindingSpec
		require.NoError(t, o.Decode(&spec, nil))
		if a := o.Metadata.Annotations; spec.Environment == flowclient.Production {
			found[fmt.Sprintf("%s is %s with %s, by %s after %q", o.Metadata.Name, spec.State, spec.ReleaseName, a[flowclient.AnnotationPromotedBy], a[flowclient.AnnotationDisplaced])]++
		}
	}
	intents, err := p.rooms.store.IntentsOf(ctx, "shop", 1000)
	require.NoError(t, err)
	for _, in := range intents {
		var outcome struct {
			Result  struct{ Components []flowclient.ComponentOutcome }
			Refusal *flowclient.Refusal
		}
		require.NotEmpty(t, in.Outcome, "%s is settled", in.Key)
		if in.Kind == "promote" || in.Kind == "rollback" {
			require.NoError(t, json.Unmarshal(in.Outcome, &outcome), in.Key)
		}
		key, _, _ := strings.Cut(in.Key, "/shop/") // that of an automatic promotion tells the instant
		if in.Kind == "sync" {
			key, _, _ = strings.Cut(in.Key, ":") // and that of a push its delivery
		}
		came := fmt.Sprint("intent ", in.Kind, " ", key, ":")
		for _, c := range outcome.Result.Components {
			came += " " + c.Component + " " + c.Result
		}
		found[came]++
	}
	holds, err := p.rooms.store.Holds(ctx)
	require.NoError(t, err)
	backoffs, err := p.rooms.store.Backoffs(ctx, time.Now())
	require.NoError(t, err)
	episodes, err := p.rooms.store.Episodes(ctx, "shop")
	require.NoError(t, err)
	locks, err := p.rooms.store.Locks(ctx)
	require.NoError(t, err)
	freezes, err := p.rooms.store.Freezes(ctx, time.Now())
	require.NoError(t, err)
	found["holds"], found["backoffs"], found["locks"], found["freezes"] = len(holds), len(backoffs), len(locks), len(freezes)
	for _, e := range episodes {
		found["episode of "+e.Cause+" for "+e.Subject]++
	}
	return found
}
