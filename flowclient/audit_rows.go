package flowclient

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// auditRow says which entry of the audit trail the rows of a kind make.
type auditRow struct {
	intent bool   // rows of intents, else of events
	kind   string // of intent or event
	entry  string // the entry's kind; "" for rows that make none
	why    string // they make none
	// tell reads the body, and the result of an intent that ended with one.
	tell func(body, result json.RawMessage) (told, error)
}

// told is what a row says of itself.
type told struct {
	component string
	result    string
	sentence  string
	gates     []AuditGate
}

// audited is which rows of the journal are entries of the audit trail: every
// kind of intent and of event stands here once. What bots decide is told by decisions.
var audited = []auditRow{
	{intent: true, kind: kindPromote, entry: "promotion", tell: tellMove},
	{intent: true, kind: kindRollback, entry: "rollback", tell: tellMove},
	{intent: true, kind: kindScaffold, entry: "scaffold", tell: tellScaffold},
	{intent: true, kind: kindTeardown, entry: "teardown", tell: tellTeardown},
	{intent: true, kind: kindCommit, entry: "commit", tell: tellCommit},
	{intent: true, kind: kindOpenPull, entry: "pull", tell: tellOpenPull},
	{intent: true, kind: kindMerge, entry: "merge", tell: tellMerge},
	{intent: true, kind: kindSync, entry: "sync", tell: tellSync},

	{kind: EventPromoteRefuse, entry: "refusal", tell: tellRefusal},
	{kind: EventRollbackRefuse, entry: "refusal", tell: tellRefusal},
	{kind: EventAutoParked, entry: entryAutomatic, tell: tellAuto(AuditWaits)},
	{kind: EventAutoRefused, entry: entryAutomatic, tell: tellAuto(AuditRefused)},
	{kind: EventAutoLeftOut, entry: entryAutomatic, tell: tellAuto(AuditRefused)},
	{kind: EventAutoLeftAlone, entry: entryAutomatic, tell: tellAuto(AuditWaits)},
	{kind: EventAutoBroken, entry: entryAutomatic, tell: tellAuto(AuditRefused)},
	{kind: EventExternal, entry: "external", tell: tellExternal},
	{kind: EventLockSet, entry: "lock", tell: tellLock("Locked")},
	{kind: EventLockCleared, entry: "unlock", tell: tellLock("Unlocked")},
	{kind: EventFreezeSet, entry: "freeze", tell: tellFreeze("Frozen")},
	{kind: EventFreezeCleared, entry: "unfreeze", tell: tellFreeze("No longer frozen")},
	{kind: EventRemoved, entry: "removal", tell: tellRemoval},
	{kind: EventReviewQueued, entry: "review", tell: tellReview(AuditWaits, "waits for a place")},
	{kind: EventReviewCreated, entry: "review", tell: tellReview(AuditDone, "was made")},
	{kind: EventReviewUpdated, entry: "review", tell: tellReview(AuditDone, "was brought to a newer head")},
	{kind: EventReviewFailed, entry: "review", tell: tellReview(AuditFailed, "could not be made")},
	{kind: EventReviewDestroyed, entry: "review", tell: tellReview(AuditDone, "was removed")},

	{kind: EventAutoOpened, why: "nothing is decided by it: what moves then has its intent's entry, what else keeps the rest its own"},
	{kind: EventPromoted, why: "its intent makes the entry"},
	{kind: EventRolledBack, why: "its intent makes the entry"},
	{kind: EventScaffolded, why: "its intent makes the entry"},
	{kind: EventBuildStarted, why: "a build is the workflow engine's, and its evidence is kept by run"},
	{kind: EventBuildPassed, why: "a build is the workflow engine's, and its evidence is kept by run"},
	{kind: EventBuildFailed, why: "a build is the workflow engine's, and its evidence is kept by run"},
	{kind: EventPullOpened, why: "what is done on the git server is on its own record; what was asked for here is an intent"},
	{kind: EventPullUpdated, why: "what is done on the git server is on its own record; what was asked for here is an intent"},
	{kind: EventPullMerged, why: "what is done on the git server is on its own record; what was asked for here is an intent"},
	{kind: EventPullClosed, why: "what is done on the git server is on its own record; what was asked for here is an intent"},
}

// entryAutomatic is the kind of what the automatic pass decided and did not
// carry out; what it moved is a promotion by Automatic, and what a rollback
// holds is in that one's entry.
const entryAutomatic = "automatic"

// unread are the parts of bodies that no entry tells and that may be large:
// the inputs of a decision, and files.
var unread = []string{"$.inputs", "$.decision", "$.request.files", "$.manifests", "$.lines"}

// maxToldMoves is how many components the sentence of a move tells one by one.
const maxToldMoves = 10

func tellMove(body, result json.RawMessage) (told, error) {
	var plan movePlan
	if err := json.Unmarshal(body, &plan); err != nil {
		return told{}, err
	}
	out := plan.outcome()
	if result != nil {
		if err := json.Unmarshal(result, &out); err != nil {
			return told{}, err
		}
	}
	t := told{component: plan.Component}
	if len(out.Components) == 1 {
		t.component = out.Components[0].Component
	}
	counts := map[string]int{}
	var sentences []string
	for i, o := range out.Components {
		counts[o.Result]++
		t.gates = gatesOf(t.gates, o.Gates)
		if i < maxToldMoves {
			sentences = append(sentences, o.Sentence)
		}
	}
	if more := len(out.Components) - maxToldMoves; more > 0 {
		sentences = append(sentences, fmt.Sprintf("And %d more.", more))
	}
	if out.Note != "" {
		sentences = append(sentences, out.Note)
	}
	t.sentence = strings.Join(sentences, " ")
	moved := counts[Promoted]+counts[RolledBack] > 0
	switch {
	case moved && out.Complete():
		t.result = AuditDone
	case moved:
		t.result = AuditPartly
	case out.Complete():
		t.result = AuditUnchanged
	default:
		t.result = AuditWaits
	}
	return t, nil
}

func tellScaffold(body, result json.RawMessage) (told, error) {
	return tellOf(body, result, func(p scaffoldPlan, s Scaffolded) string {
		return fmt.Sprintf("Made %s from the template %s, in repository %s at %s.", p.Project, p.Request.Template, s.Repository.Name, ShortSHA(s.Commit.SHA))
	})
}

func tellTeardown(body, result json.RawMessage) (told, error) {
	return tellOf(body, result, func(_ teardownPlan, r Removed) string {
		sentence := fmt.Sprintf("Removed %s with %s.", counted(len(r.Projects), "project", "projects"), counted(r.Objects, "object", "objects"))
		if len(r.Refused) > 0 {
			sentence += fmt.Sprintf(" Left what no walkthrough made: %s.", counted(len(r.Refused), "refusal", "refusals"))
		}
		return sentence
	})
}

func tellCommit(body, result json.RawMessage) (told, error) {
	return tellOf(body, result, func(p commitPlan, commit Commit) string {
		return fmt.Sprintf("Pushed %s to %s of %s: %s", ShortSHA(commit.SHA), cmp.Or(p.Request.Branch, mainBranch), p.Project, ended(commit.Subject))
	})
}

func tellOpenPull(body, result json.RawMessage) (told, error) {
	return tellOf(body, result, func(_ openPlan, p Pull) string {
		return fmt.Sprintf("Opened %s of %s: %s", p.name(), p.Branch, ended(p.Title))
	})
}

func tellMerge(body, result json.RawMessage) (told, error) {
	return tellOf(body, result, func(_ mergePlan, p Pull) string {
		return fmt.Sprintf("Merged %s as %s: %s", p.name(), ShortSHA(p.MergeCommit), ended(p.Title))
	})
}

func tellSync(body, result json.RawMessage) (told, error) {
	t, err := tellOf(body, result, func(_ syncPlan, s Synced) string {
		return fmt.Sprintf("Applied the manifests of %s at %s: %s.", s.Repo, ShortSHA(s.Commit), s.status().Description)
	})
	var s Synced
	if result != nil && err == nil && json.Unmarshal(result, &s) == nil && s.Refused > 0 {
		t.result = AuditPartly
	}
	return t, err
}

// tellOf reads plan and result of an intent; one without a result says nothing.
func tellOf[P, R any](body, result json.RawMessage, sentence func(P, R) string) (told, error) {
	var plan P
	var r R
	if err := json.Unmarshal(body, &plan); err != nil || result == nil {
		return told{}, err
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return told{}, err
	}
	return told{result: AuditDone, sentence: sentence(plan, r)}, nil
}

func tellRefusal(body, _ json.RawMessage) (told, error) {
	return tellEvent(body, func(e MoveEvent) told {
		t := told{result: AuditRefused}
		if e.Refusal != nil {
			t.sentence, t.gates = e.Refusal.Sentence, gatesOf(nil, e.Refusal.Gates)
		}
		return t
	})
}

func tellAuto(result string) func(body, _ json.RawMessage) (told, error) {
	return func(body, _ json.RawMessage) (told, error) {
		return tellEvent(body, func(e AutoEvent) told {
			return told{result: result, sentence: fmt.Sprintf("Kept %s where it is: %s", strings.Join(e.Set, ", "), ended(e.Sentence)), gates: gatesOf(nil, e.Gates)}
		})
	}
}

func tellExternal(body, _ json.RawMessage) (told, error) {
	return tellEvent(body, func(e ExternalEvent) told {
		sentence := fmt.Sprintf("%s was pinned to %s past the controller", e.Binding, release{Name: e.To, Commit: e.ToCommit}.label())
		if e.From != "" {
			sentence += "; it had been put at " + release{Name: e.From, Commit: e.FromCommit}.label()
		}
		return told{result: AuditDone, sentence: sentence + "."}
	})
}

func tellLock(did string) func(body, _ json.RawMessage) (told, error) {
	return func(body, _ json.RawMessage) (told, error) {
		return tellEvent(body, func(e LockEvent) told {
			var sentences []string
			for _, l := range e.Locks {
				sentences = append(sentences, fmt.Sprintf("%s %s %s in %s: %s", did, l.Component, ShortSHA(l.Commit), cmp.Or(l.Environment, "every environment"), ended(l.Reason)))
			}
			return told{result: AuditDone, sentence: strings.Join(sentences, " ")}
		})
	}
}

func tellFreeze(did string) func(body, _ json.RawMessage) (told, error) {
	return func(body, _ json.RawMessage) (told, error) {
		return tellEvent(body, func(e FreezeEvent) told {
			at := func(t time.Time) string { return t.UTC().Format("Mon 2 Jan 2006 15:04 MST") }
			return told{result: AuditDone, sentence: fmt.Sprintf("%s: production of %s from %s until %s: %s", did,
				cmp.Or(e.Freeze.Project, "every project"), at(e.Freeze.From), at(e.Freeze.Until), ended(e.Freeze.Reason))}
		})
	}
}

func tellRemoval(body, _ json.RawMessage) (told, error) {
	return tellEvent(body, func(e ProjectEvent) told {
		return told{result: AuditDone, sentence: fmt.Sprintf("Removed this project, made from the template %s, with repository %s.", cmp.Or(e.Template, "of no name"), e.Repository.Name)}
	})
}

func tellReview(result, what string) func(body, _ json.RawMessage) (told, error) {
	return func(body, _ json.RawMessage) (told, error) {
		return tellEvent(body, func(e ReviewEvent) told {
			sentence := fmt.Sprintf("The review environment %s of %s at %s %s", e.Review.Environment, pullName(e.Review.Repo, e.Review.Number), ShortSHA(e.Review.Head), what)
			if e.Why != "" {
				sentence += ": " + e.Why
			}
			return told{result: result, sentence: ended(sentence)}
		})
	}
}

// tellEvent reads the body of an event.
func tellEvent[B any](body json.RawMessage, tell func(B) told) (told, error) {
	var b B
	if err := json.Unmarshal(body, &b); err != nil {
		return told{}, err
	}
	return tell(b), nil
}

// ended is a text of somebody's as the end of a sentence.
func ended(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}
