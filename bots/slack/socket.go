package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

const (
	eventLimit   = 1 << 20 // bytes of one event; a larger one is passed over
	frameLimit   = 8 << 20 // bytes of one frame; a larger one ends the stream
	badFrames    = 10      // in a row, after which a stream is given up
	ackBacklog   = 1024    // acknowledgements that wait to be written
	pingEvery    = 10 * time.Second
	silenceLimit = 30 * time.Second // without a word, or an answer to a ping, a stream is dead
	helloLimit   = 15 * time.Second // in which a new stream must have greeted
	writeTimeout = 5 * time.Second
	partingTime  = 3 * time.Second // in which a stream that is replaced still takes acknowledgements
)

// socket is one event stream: one goroutine reads it (reads), one writes to it (writes).
type socket struct {
	conn *websocket.Conn
	acks chan string   // envelope ids to acknowledge
	ping chan string   // one element: a ping to answer
	done chan struct{} // closed when reading has ended
	err  error         // why; read it after done

	opened   func()        // called at the greeting
	hello    chan struct{} // closed after it
	lifetime time.Duration // as Slack said in it, 0 when it did not; read it after hello
	leaving  chan struct{} // closed when Slack asks for another stream in place of this one
	reason   string        // why; read it after leaving

	pending atomic.Int64 // events that were not acknowledged yet
}

// reasonUnlinked says that Socket Mode was switched off for the app. With any other
// reason (warning, refresh_requested, too_many_websockets) another stream may be opened.
const reasonUnlinked = "link_disabled"

// dial opens the event stream that Slack gave the address of. The address holds a
// ticket and stands in no error.
func (t *Transport) dial(ctx context.Context) (*socket, error) {
	_, address, err := t.api.StartSocketModeContext(ctx)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "wss" && (u.Scheme != "ws" || !strings.HasPrefix(t.cfg.Tokens.API, "http://")) {
		return nil, errors.New("apps.connections.open: the address of the event stream is none")
	}
	conn, resp, err := t.dialer.DialContext(ctx, address, nil)
	if err != nil {
		var refused *url.Error
		if errors.As(err, &refused) {
			err = refused.Err
		}
		return nil, fmt.Errorf("open an event stream: %w", err)
	}
	_ = resp.Body.Close()
	s := &socket{
		conn: conn, acks: make(chan string, ackBacklog), ping: make(chan string, 1), done: make(chan struct{}), hello: make(chan struct{}), leaving: make(chan struct{}),
	}
	conn.SetReadLimit(frameLimit)
	return s, nil
}

// reads takes frames until the stream ends, and gives those with something to do
// to take. It never waits for what is done with them.
func (s *socket) reads(take func(*frame), log func(what string, err error)) {
	defer close(s.done)
	defer s.conn.Close()
	s.alive()
	s.conn.SetPongHandler(func(string) error { s.alive(); return nil })
	s.conn.SetPingHandler(func(text string) error {
		s.alive()
		select {
		case s.ping <- text:
		default: // the answer to the one before is not written yet, and answers this one as well
		}
		return nil
	})
	var text bytes.Buffer
	for bad := 0; bad < badFrames; {
		f, err := s.read(&text)
		var torn *frameError
		switch {
		case errors.As(err, &torn):
			log("a frame of the event stream is not understood", err)
			bad++
		case err != nil:
			s.err = err
			return
		default:
			bad = 0
		}
		if f != nil && !s.control(f) {
			s.pending.Add(1)
			take(f)
		}
	}
	s.err = fmt.Errorf("%d frames in a row are not understood", badFrames)
}

// frameError is a frame that is of no use, on a stream that may be sound.
type frameError struct{ error }

func (e *frameError) Unwrap() error { return e.error }

// read reads one frame. Beside a *frameError it returns the frame when that can be acknowledged.
func (s *socket) read(text *bytes.Buffer) (*frame, error) {
	_, r, err := s.conn.NextReader()
	if err != nil {
		return nil, err
	}
	text.Reset()
	n, err := text.ReadFrom(io.LimitReader(r, eventLimit+1))
	switch {
	case err != nil:
		return nil, err
	case n > eventLimit: // the next read passes the rest over
		return nil, &frameError{fmt.Errorf("an event of more than %d bytes", eventLimit)}
	}
	f, err := readFrame(text.Bytes())
	if text.Cap() > eventLimit/8 {
		*text = bytes.Buffer{} // a large one is rare, and is not kept
	}
	if err != nil {
		err = &frameError{err}
		if f.ID == "" {
			f = nil
		} else {
			f.Type = "" // whatever it is, it is acknowledged alone
		}
	}
	return f, err
}

// control does what frames say that are about the stream itself, and tells whether this is one.
func (s *socket) control(f *frame) bool {
	switch f.Type {
	case frameHello:
		select {
		case <-s.hello:
		default:
			s.lifetime = time.Duration(f.About.Lifetime) * time.Second
			s.opened()
			close(s.hello)
		}
		return true
	case frameDisconnect:
		select {
		case <-s.leaving:
		default:
			s.reason = f.Reason
			close(s.leaving)
		}
		return true
	}
	return f.ID == ""
}

// alive takes notice that the other side is there.
func (s *socket) alive() { _ = s.conn.SetReadDeadline(time.Now().Add(silenceLimit)) }

// writes sends acknowledgements, each a frame of its own since Slack does not read
// two in one, pings, and answers to them, until reading has ended.
func (s *socket) writes() {
	every := time.NewTicker(pingEvery)
	defer every.Stop()
	var frame []byte
	for {
		var err error
		select {
		case <-s.done:
			return
		case <-every.C:
			err = s.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout))
		case text := <-s.ping:
			err = s.conn.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(writeTimeout))
		case id := <-s.acks:
			frame = acknowledgement(frame[:0], id)
			if err = s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err == nil {
				err = s.conn.WriteMessage(websocket.TextMessage, frame)
			}
			s.pending.Add(-1)
		}
		if err != nil {
			_ = s.conn.Close() // ends the reading; what was not acknowledged comes again
			<-s.done
			return
		}
	}
}

// acknowledgement writes the frame that acknowledges an event. Ids are UUIDs; any other text is escaped.
func acknowledgement(to []byte, id string) []byte {
	to = append(to, `{"envelope_id":`...)
	plain := !strings.ContainsFunc(id, func(r rune) bool { return r < 0x20 || r >= 0x7f || r == '"' || r == '\\' })
	if plain {
		to = append(append(append(to, '"'), id...), '"')
	} else if text, err := json.Marshal(id); err == nil {
		to = append(to, text...)
	}
	return append(to, '}')
}

// ack tells Slack that an event need not come again. It never waits: what cannot
// be said now comes again, and is known.
func (s *socket) ack(id string) {
	select {
	case s.acks <- id:
	default:
		s.pending.Add(-1)
	}
}

// drop leaves an event to Slack, which brings it again.
func (s *socket) drop() { s.pending.Add(-1) }

// greeted waits for the greeting.
func (s *socket) greeted(ctx context.Context) error {
	late := time.NewTimer(helloLimit)
	defer late.Stop()
	select {
	case <-s.hello:
		return nil
	case <-s.done:
		if s.isOpen() {
			return nil // and is over already
		}
		return cmp.Or(s.err, io.ErrUnexpectedEOF)
	case <-late.C:
		return fmt.Errorf("an event stream said nothing for %s", helloLimit)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isOpen tells whether the stream has greeted.
func (s *socket) isOpen() bool {
	select {
	case <-s.hello:
		return true
	default:
		return false
	}
}

// left is why Slack asks for another stream, "" when it does not.
func (s *socket) left() string {
	select {
	case <-s.leaving:
		return s.reason
	default:
		return ""
	}
}

// part ends a stream in whose place another is open, once what it brought is acknowledged.
func (s *socket) part(ctx context.Context) {
	late := time.NewTimer(partingTime)
	defer late.Stop()
	look := time.NewTicker(partingTime / 100)
	defer look.Stop()
	for waiting := true; waiting && s.pending.Load() > 0; {
		select {
		case <-look.C:
		case <-s.done:
			waiting = false
		case <-late.C:
			waiting = false
		case <-ctx.Done():
			waiting = false
		}
	}
	s.close()
}

// close ends a stream, saying so to the other side, and waits until reading has
// ended. Slack leaves it to us to close the connection.
func (s *socket) close() {
	_ = s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	_ = s.conn.Close()
	<-s.done
}
