package bots

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"platform.dev/platform/commands"
)

// PeopleFile is a Directory that is a file (DecodePeople), and follows it: who is
// taken out of the file has lost every right within a second. A file that cannot
// be read, or is wrong, changes nothing: the last good one goes on to hold, the
// log says so once, and Health until it is mended. It is safe for concurrent use.
type PeopleFile struct{ followed[*People] }

// OpenPeople reads the file at path, which must be good, and follows it from
// then on. now may be nil: time.Now; log may be nil.
func OpenPeople(path string, now func() time.Time, log *slog.Logger) (*PeopleFile, error) {
	f := &PeopleFile{followed[*People]{path: path, what: "people", decode: DecodePeople, empty: "people: [] where nobody is to be known"}}
	if err := f.open(now, log); err != nil {
		return nil, err
	}
	return f, nil
}

// People is the directory as it stands now.
func (f *PeopleFile) People() *People { return f.current() }

// Person looks a chat's user id up.
func (f *PeopleFile) Person(ctx context.Context, chatID string) (commands.Person, bool) {
	return f.People().Person(ctx, chatID)
}

// ConfirmFile is a policy of confirming that is a file (DecodeConfirmations), and
// follows it as a PeopleFile does: what is asked from a second later on is asked
// by what it says then. A question that was asked before keeps its terms. It is
// safe for concurrent use.
type ConfirmFile struct{ followed[Confirmations] }

// OpenConfirmations reads the file at path, which must be good, and follows it
// from then on. now may be nil: time.Now; log may be nil.
func OpenConfirmations(path string, now func() time.Time, log *slog.Logger) (*ConfirmFile, error) {
	f := &ConfirmFile{followed[Confirmations]{path: path, what: "confirmations", decode: DecodeConfirmations, empty: "confirm: [] where nothing is to be confirmed"}}
	if err := f.open(now, log); err != nil {
		return nil, err
	}
	return f, nil
}

// Need is what the policy as it stands now wants for a call.
func (f *ConfirmFile) Need(call commands.Call, stream string) Need {
	return f.current().Need(call, stream)
}

// Reactions tells that reactions are to be heard: whatever the file says now, it may come to want them.
func (f *ConfirmFile) Reactions() bool { return true }

// followed is a file that is read again when it has changed.
type followed[T any] struct {
	path   string
	what   string // it tells, for the log
	decode func(r io.Reader) (T, error)
	empty  string // what to write instead of nothing at all
	now    func() time.Time
	log    *slog.Logger

	mu     sync.Mutex
	value  T
	looked time.Time         // when the file was last looked at
	seen   stamp             // how it stood then
	sum    [sha256.Size]byte // of what was last read, good or not
	fault  error             // why that does not hold
}

// lookAgain is how often a file is looked at, at most; it is looked at when somebody asks.
const lookAgain = time.Second

// stamp tells two states of a file apart, except two of one instant.
type stamp struct {
	size    int64
	changed time.Time
}

// tick is the coarsest clock of the file systems there are (FAT's): a file that
// was written less than this before it was read may since have been written anew,
// with nothing but its bytes to tell.
const tick = 2 * time.Second

// open reads the file for the first time.
func (f *followed[T]) open(now func() time.Time, log *slog.Logger) error {
	if f.now = now; now == nil {
		f.now = time.Now
	}
	if f.log = log; log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	f.looked = f.now()
	text, seen, err := f.read()
	if err == nil {
		f.value, err = f.decoded(text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.seen, f.sum = seen, sha256.Sum256(text)
	return nil
}

// current is what holds now.
func (f *followed[T]) current() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	return f.value
}

// Health tells why the file as it stands does not hold; nil when it does.
func (f *followed[T]) Health() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	if f.fault == nil {
		return nil
	}
	return fmt.Errorf("%s does not hold as it stands, and what it said before does: %w", f.path, f.fault)
}

// look reads the file again when it has changed; the lock is held.
func (f *followed[T]) look() {
	now := f.now()
	if since := now.Sub(f.looked); since >= 0 && since < lookAgain {
		return
	}
	f.looked = now
	if info, err := os.Stat(f.path); err == nil && f.fault == nil && (stamp{info.Size(), info.ModTime()}) == f.seen {
		return
	}
	text, seen, err := f.read()
	if err != nil {
		f.refuse(err)
		return
	}
	sum := sha256.Sum256(text)
	f.seen = seen
	if sum == f.sum && f.known() {
		return
	}
	f.sum = sum
	value, err := f.decoded(text)
	if err != nil {
		f.refuse(err)
		return
	}
	f.value, f.fault = value, nil
	f.log.Info(f.what+" are read anew", "file", f.path)
}

// decoded is what a file says. Nothing at all is a mistake: an editor may have
// emptied it and not written it yet.
func (f *followed[T]) decoded(text []byte) (value T, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return value, errors.New("the file is empty; write " + f.empty)
	}
	return f.decode(bytes.NewReader(text))
}

// known tells whether it was decided about what was last read: it holds, or is
// wrong. A file that could not be read at all is decided about when it can.
func (f *followed[T]) known() bool {
	var unread *unreadable
	return !errors.As(f.fault, &unread)
}

// unreadable is why a file could not be read at all.
type unreadable struct{ error }

func (u *unreadable) Unwrap() error { return u.error }

// refuse keeps what held, and says why once.
func (f *followed[T]) refuse(err error) {
	if f.fault == nil || f.fault.Error() != err.Error() {
		f.log.Error(f.what+" cannot be read anew; what was read before goes on to hold", "file", f.path, "error", err)
	}
	f.fault = err
}

// read is what the file holds, and how it stood. The stamp of a file that was
// only just written is the zero one, which no file has: it is read again.
func (f *followed[T]) read() (text []byte, seen stamp, err error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, stamp{}, &unreadable{err}
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(file, fileLimit+1))
	}
	if err != nil {
		return nil, stamp{}, &unreadable{err}
	}
	if age := time.Since(info.ModTime()); age >= tick {
		seen = stamp{info.Size(), info.ModTime()}
	}
	return text, seen, nil
}
