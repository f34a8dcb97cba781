package git

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"platform.dev/platform/server/web"
)

// backoff is how long a delivery waits after each failed attempt. One that has
// used them all is parked as failed, and the hook's next one goes.
var backoff = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute,
	30 * time.Minute, time.Hour, time.Hour, 2 * time.Hour, 4 * time.Hour,
}

const (
	senders       = 8                // deliveries under way at one time
	keptDelivered = 50               // ended deliveries that are kept per hook
	lookInterval  = time.Minute      // between comparisons of refs that nobody asked for
	answerKept    = 1 << 10          // bytes of a receiver's answer that are kept
	idleDelay     = 10 * time.Minute // the longest that Run sleeps over deliveries
)

// delivery is a row that is waiting to be sent.
type delivery struct {
	ID, HookID  int64
	UUID, Event string
	URL, Secret string
	Body        []byte
	Attempts    int
	Due         time.Time
}

// Run sends deliveries until ctx ends, and compares recorded refs with those
// on disk once a minute: a receive-pack that outlived a killed server is found
// so. It returns nil when everything it began has ended.
func (s *Server) Run(ctx context.Context) error {
	var under sync.WaitGroup
	defer under.Wait()
	under.Go(func() { s.watchRefs(ctx) })
	if !s.cfg.HookDelivery {
		<-ctx.Done()
		return nil
	}
	running := &inFlight{hooks: map[int64]bool{}}
	for ctx.Err() == nil {
		changed := s.news.next()
		wait, err := s.dispatch(ctx, running, &under)
		if err != nil && ctx.Err() == nil {
			s.cfg.Log.ErrorContext(ctx, "deliveries cannot be read", "error", err)
			wait = time.Second
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// watchRefs looks for refs that moved unseen, and tidies.
func (s *Server) watchRefs(ctx context.Context) {
	tick, daily := time.NewTicker(lookInterval), time.NewTicker(tidyInterval)
	defer tick.Stop()
	defer daily.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err = s.recordAll(ctx)
		case <-daily.C:
			err = s.Tidy(ctx, tidyObjects)
		}
		if err != nil && ctx.Err() == nil {
			s.cfg.Log.ErrorContext(ctx, "repositories cannot be looked after", "error", err)
		}
	}
}

// inFlight are the hooks that a delivery is under way to. Run alone adds to
// it; the deliveries take themselves out when they have been recorded.
type inFlight struct {
	mu    sync.Mutex
	hooks map[int64]bool
}

// snapshot is a copy.
func (f *inFlight) snapshot() map[int64]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.hooks)
}

func (f *inFlight) set(hook int64, under bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if under {
		f.hooks[hook] = true
	} else {
		delete(f.hooks, hook)
	}
}

// dispatch starts what is due and tells how long until the next one is. Which
// hooks are busy is looked at before the rows are read: a delivery that ends
// in between is skipped here, rather than sent again from a row that was read
// before its end was written.
func (s *Server) dispatch(ctx context.Context, running *inFlight, under *sync.WaitGroup) (time.Duration, error) {
	busy := running.snapshot()
	heads, err := s.heads(ctx)
	if err != nil {
		return 0, err
	}
	wait := idleDelay
	for _, d := range heads {
		if until := d.Due.Sub(s.cfg.Now()); until > 0 {
			wait = min(wait, until)
			continue
		}
		if busy[d.HookID] || len(busy) >= senders {
			continue // the end of one of them wakes us
		}
		busy[d.HookID] = true
		running.set(d.HookID, true)
		under.Go(func() {
			defer s.news.tell()
			defer running.set(d.HookID, false)
			s.attempt(ctx, d)
		})
	}
	return wait, nil
}

// heads lists each active hook's oldest waiting delivery: those behind it wait for it.
func (s *Server) heads(ctx context.Context) ([]delivery, error) {
	rows, err := s.file.Reader().QueryContext(ctx, `
		SELECT d.id, d.hook_id, d.uuid, d.event, h.url, h.secret, d.body, d.attempts, d.due_at
		FROM deliveries d JOIN hooks h ON h.id = d.hook_id
		WHERE d.id IN (SELECT min(id) FROM deliveries WHERE state = 'waiting' GROUP BY hook_id) AND h.active
		ORDER BY d.due_at, d.id`)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	defer rows.Close()
	var heads []delivery
	for rows.Next() {
		var d delivery
		var due int64
		if err := rows.Scan(&d.ID, &d.HookID, &d.UUID, &d.Event, &d.URL, &d.Secret, &d.Body, &d.Attempts, &due); err != nil {
			return nil, fmt.Errorf("list deliveries: %w", err)
		}
		d.Due = fromMillis(due)
		heads = append(heads, d)
	}
	return heads, rows.Err()
}

// lingering is ctx with its end put off by the grace that a stop gives to what
// has begun. done frees what it holds.
func lingering(ctx context.Context) (longer context.Context, done func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(web.ShutdownGrace, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		forget()
		cancel()
	}
}

// attempt sends a delivery once and records what came of it. A stop lets it
// end, so that what was accepted is not sent again by the next start; an
// attempt that is cut off all the same is not counted.
func (s *Server) attempt(ctx context.Context, d delivery) {
	sending, done := lingering(ctx)
	defer done()
	answer, err := s.send(sending, d)
	if sending.Err() != nil && err != nil {
		return
	}
	state, due, attempts := "delivered", s.cfg.Now(), d.Attempts+1
	if err != nil {
		answer = err.Error()
		if state = "failed"; attempts <= len(backoff) {
			state, due = "waiting", due.Add(backoff[attempts-1])
		}
		s.cfg.Log.WarnContext(ctx, "delivery not accepted", "delivery", d.UUID, "url", d.URL, "attempt", attempts, "state", state, "error", err)
	}
	// What the receiver has accepted is recorded even when we are being stopped.
	if err := s.settle(context.WithoutCancel(ctx), d, state, answer, attempts, due); err != nil {
		s.cfg.Log.ErrorContext(ctx, "delivery not recorded", "delivery", d.UUID, "error", err)
	}
}

// settle records an attempt and drops ended deliveries beyond those that are kept.
func (s *Server) settle(ctx context.Context, d delivery, state, answer string, attempts int, due time.Time) error {
	return s.file.Update(ctx, "delivery "+state, func(tx *sql.Tx) error {
		var ended any
		if state != "waiting" {
			ended = millis(s.cfg.Now())
		}
		_, err := tx.ExecContext(ctx, `UPDATE deliveries SET state = ?, answer = ?, attempts = ?, due_at = ?, ended_at = ? WHERE id = ?`,
			state, web.Echo(answer), attempts, millis(due), ended, d.ID)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM deliveries WHERE hook_id = ? AND state = 'delivered' AND id <= (
			SELECT id FROM deliveries WHERE hook_id = ? AND state = 'delivered' ORDER BY id DESC LIMIT 1 OFFSET ?)`,
			d.HookID, d.HookID, keptDelivered)
		return err
	})
}

// undelivered is a delivery that was not accepted so far, as a page shows it.
type undelivered struct {
	Event, URL, State, Answer string // State: waiting, failed
	Attempts                  int
}

// undelivered lists the repository's newest deliveries that nobody has accepted.
func (s *Server) undelivered(ctx context.Context, repo repository) ([]undelivered, error) {
	rows, err := s.file.Reader().QueryContext(ctx, `
		SELECT d.event, h.url, d.state, d.answer, d.attempts FROM deliveries d JOIN hooks h ON h.id = d.hook_id
		WHERE h.repository_id = ? AND d.state <> 'delivered' ORDER BY d.id DESC LIMIT 20`, repo.ID)
	if err != nil {
		return nil, fmt.Errorf("undelivered of %s: %w", repo.full(), err)
	}
	defer rows.Close()
	var list []undelivered
	for rows.Next() {
		var u undelivered
		if err := rows.Scan(&u.Event, &u.URL, &u.State, &u.Answer, &u.Attempts); err != nil {
			return nil, fmt.Errorf("undelivered of %s: %w", repo.full(), err)
		}
		list = append(list, u)
	}
	return list, rows.Err()
}

// send posts a delivery; every status but 2xx is an error.
func (s *Server) send(ctx context.Context, d delivery) (string, error) {
	u, err := url.Parse(d.URL)
	if err != nil {
		return "", fmt.Errorf("hook url: %w", err)
	}
	if !s.mayCall(u.Hostname()) { // the operator may have narrowed it since
		return "", fmt.Errorf("host %q is not allowed to hooks", u.Hostname())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(d.Body))
	if err != nil {
		return "", err
	}
	sign(req.Header, d)
	resp, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, answerKept)) // an answer cut short is as good
	if resp.StatusCode/100 != 2 {
		return "", fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(said))
	}
	return resp.Status, nil
}

// Idle waits until no delivery is due now: each was accepted, or failed and
// waits for a later attempt. Without HookDelivery nothing ever is due.
func (s *Server) Idle(ctx context.Context) error {
	for s.cfg.HookDelivery {
		changed := s.news.next()
		heads, err := s.heads(ctx)
		if err != nil {
			return err
		}
		due := false
		for _, d := range heads {
			due = due || !d.Due.After(s.cfg.Now())
		}
		if !due {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.Join(errors.New("deliveries are still due"), ctx.Err())
		}
	}
	return nil
}
