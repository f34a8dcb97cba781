package flowclient

import (
	"context"
	"time"
)

// Standings is what the automatic pass remembers across restarts (port):
// holds, backoffs and episodes. A method returns after its commit.
type Standings interface {
	// Holds lists the holds, by component.
	Holds(ctx context.Context) ([]Hold, error)
	// LiftHold removes a component's hold for the release, if it has that one.
	LiftHold(ctx context.Context, component, release string) error
	// Backoffs lists the backoffs that end after now, by component.
	Backoffs(ctx context.Context, now time.Time) ([]Backoff, error)
	// Stand makes the episodes those that last in a project, and records the backoffs, in one
	// transaction. An episode whose Subject, Cause and Fingerprint last already keeps its Since, and
	// its Event is not recorded again; one that is new begins at `at`, and its Event is recorded with
	// it; one that is not among them ends. The events ended tell of ends, and are recorded with them.
	// It returns the episodes as they last.
	Stand(ctx context.Context, project string, episodes []Episode, backoffs []Backoff, at time.Time, ended ...Event) ([]Episode, error)
	// Episodes lists those that last, of one project or ("") of all, by project and subject.
	Episodes(ctx context.Context, project string) ([]Episode, error)
}

// Hold keeps the automatic pass from moving a release forward again that was
// rolled back, until staging runs another or a person promotes (decided in the
// promotion rules: a rollback stays put).
type Hold struct {
	Project   string    `json:"project"`
	Component string    `json:"component"`
	Release   string    `json:"release"`
	Who       string    `json:"who"`
	At        time.Time `json:"at"`
}

// Backoff keeps the automatic pass from asking capacity again for a component.
type Backoff struct {
	Component string    `json:"component"`
	Until     time.Time `json:"until"`
}

// Episode is a stretch of time in which the automatic pass leaves something
// where it is for one cause. It is announced once: by Event, when it begins.
type Episode struct {
	Project     string    `json:"project"`
	Subject     string    `json:"subject"` // a component, or the set that moves together: "shop-api,shop-web"
	Cause       string    `json:"cause"`   // the gate
	Fingerprint string    `json:"fingerprint"`
	Since       time.Time `json:"since"`
	Event       *Event    `json:"-"` // nil: nothing is announced of it
}

// How a component stands that staging and production differ in.
const (
	StandWaiting      = "waiting"        // for a gate that time or the component itself lifts; or it moves now
	StandParked       = "parked"         // only the production window keeps it
	StandBackedOff    = "backed off"     // the set does not fit its cell
	StandLeftOut      = "left out"       // it is locked
	StandHeld         = "held"           // it was rolled back
	StandOutOfService = "out of service" // production is
	StandLeftAlone    = "left alone"     // its staging page does not answer
	StandBroken       = "broken"         // an annotation cannot be read
	StandManual       = "manual"         // the project is promoted by hand
)

// ComponentStanding is what the automatic pass makes of a component whose
// staging and production differ.
type ComponentStanding struct {
	Component string     `json:"component"`
	Standing  string     `json:"standing"`       // one of the constants Stand*
	Gate      string     `json:"gate,omitempty"` // that keeps it; empty when none does
	Sentence  string     `json:"sentence"`
	Since     *time.Time `json:"since,omitempty"` // since when it stands so, where that is known
	Flips     *time.Time `json:"flips,omitempty"` // when the gate may pass by time alone
	To        string     `json:"to"`              // the release that would move
	ToCommit  string     `json:"toCommit,omitempty"`
}
