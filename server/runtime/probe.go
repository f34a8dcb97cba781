package runtime

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// The pauses between two looks whether a process answers: the first, and the
// longest that it grows to.
const (
	firstLook   = 100 * time.Millisecond
	longestLook = time.Second
)

// answerWithin bounds one answer to a probe.
const answerWithin = 5 * time.Second

// errForeign is an answer on the process's port that is not the process's.
var errForeign = errors.New("another process listens there")

// probe asks the process for a path until it answers with a status below 500.
// When ctx ends before, the error is the last look's.
func (p *process) probe(ctx context.Context, path string) error {
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true}, // and no proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       answerWithin,
	}
	var last error
	for pause := firstLook; ; pause = min(pause*3/2, longestLook) {
		err := p.look(ctx, client, "http://"+p.address()+path)
		switch {
		case err == nil:
			return nil
		case last == nil, ctx.Err() == nil: // a look cut short tells less than the one before
			last = err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return last
		}
	}
}

// look asks once.
func (p *process) look(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "platform-runtime")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("GET %s: status %d", url, resp.StatusCode)
	case !listens(p.record.Group, p.port):
		return fmt.Errorf("GET %s: %w", url, errForeign)
	}
	return nil
}
