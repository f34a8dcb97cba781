package slack

import (
	"sync"
	"time"
)

// outageAfter is how long nothing is heard, and Slack does not answer, before an
// operator is told: a stream that has to be opened twice concerns nobody.
const outageAfter = time.Second

// outage is a time in which nothing is heard and Slack does not answer. It is
// told of once, however often Slack is asked meanwhile, and its end as well.
type outage struct {
	mu    sync.Mutex
	began time.Time // of the first attempt that failed; zero while there is none
	told  bool
}

// unanswered takes notice of an attempt to be in hearing that failed; attrs are about
// that attempt. While another event stream is open it is no outage.
func (t *Transport) unanswered(why error, attrs ...any) {
	o, now := &t.state.outage, t.cfg.Now()
	o.mu.Lock()
	if o.began.IsZero() && t.state.open.Load() == 0 {
		o.began = now
	}
	fresh := !o.told && !o.began.IsZero() && now.Sub(o.began) >= outageAfter
	o.told = o.told || fresh
	o.mu.Unlock()
	attrs = append([]any{"why", why}, attrs...)
	if fresh {
		t.cfg.Log.Warn("Slack does not answer, and nothing is heard until it does; trying again", attrs...)
		return
	}
	t.cfg.Log.Debug("Slack does not answer; trying again", attrs...)
}

// answers takes notice of an event stream that is open.
func (t *Transport) answers() {
	o := &t.state.outage
	o.mu.Lock()
	began, told := o.began, o.told
	o.began, o.told = time.Time{}, false
	o.mu.Unlock()
	if told {
		t.cfg.Log.Info("Slack answers again", "after", t.cfg.Now().Sub(began))
	}
}
