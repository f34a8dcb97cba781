package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Keep says for how long rows are kept that nothing needs any more; 0 is for ever.
type Keep struct {
	Messages time.Duration // heard and said
	History  time.Duration // what was decided, done and happened
	// Announced is the name of the cursor of whoever announces events: what it has not come to is
	// owed, and stays. Empty: nobody announces them.
	Announced string
}

// MessagesNeeded is the least that messages have to be kept: a chat may tell
// of a message again, Slack for a day, and what was answered is known by its row
// alone. Zulip is asked for what came after the last message that was heard.
const MessagesNeeded = 48 * time.Hour

// aging is what may go of a table. Deliveries, questions and programs, which
// have one age each, are forgotten where they are written; all other tables hold
// how things stand, or the history of locks and freezes, which is never cut.
type aging struct {
	table string
	seq   string // its column of numbers that increase
	at    string // its column of instants
	kept  func(Keep) time.Duration
	trail bool // it is only added to: how far it was compacted is recorded with each batch
	// done is the condition, beside its age, under which a row r may go. It may use :before, the
	// instant up to which rows are old, and :announced.
	done string
}

// agings is the rule, in the order in which it is carried out: intents are
// judged by events, and so go first.
var agings = []aging{
	{"heard", "seq", "at", messages, false, heardDone},
	{"outbox", "id", "put", messages, false, saidDone},
	{"decisions", "seq", "at", history, true, `TRUE`},
	{"intents", "seq", "at", history, true, intentDone},
	{"events", "seq", "at", history, true, eventDone},
}

func messages(k Keep) time.Duration { return k.Messages }
func history(k Keep) time.Duration  { return k.History }

const (
	// What was heard is done when it was answered, unless a question about it is open.
	heardDone = `r.finished < :before AND NOT EXISTS (
		SELECT 1 FROM questions AS q WHERE q.id > r.key || '/question/' AND q.id < r.key || '/question0' AND q.settled IS NULL)`

	// What was said is done when nothing of it is owed. What is not answered yet, or walks through
	// yet, may say it again under the same key, and must find the row.
	saidDone = `r.owed = 0 AND max(coalesce(r.sent, r.put), coalesce(r.dropped, r.put)) < :before
		AND r.put < coalesce((SELECT min(h.at) FROM heard AS h WHERE h.finished IS NULL), r.put + 1)
		AND r.put < coalesce((SELECT min(w.started) FROM runs AS w WHERE w.ended IS NULL), r.put + 1)
		AND NOT EXISTS (SELECT 1 FROM questions AS q WHERE q.id = r.key AND q.settled IS NULL)`

	// A project that was removed after the row leaves nothing that could need it.
	projectGone = `EXISTS (SELECT 1 FROM events AS g WHERE g.project = r.project AND g.kind = 'project.removed' AND g.at >= r.at)`

	// An intent is done when it has an outcome, unless it is the last one that moved a component: it
	// tells whose the pin in production is, and what undo would take back. Results of other kinds are
	// of other shapes.
	intentDone = `r.settled < :before AND (` + projectGone + ` OR CASE WHEN r.kind NOT IN ('promote', 'rollback') THEN TRUE ELSE NOT EXISTS (
		SELECT 1 FROM json_each(CAST(r.outcome AS TEXT), '$.result.components') AS m
		WHERE m.value ->> '$.result' IN ('promoted', 'rolled back') AND NOT EXISTS (
			SELECT 1 FROM subjects AS s JOIN intents AS n ON n.seq = s.seq,
				json_each(CAST(n.outcome AS TEXT), '$.result.components') AS later
			WHERE s.component = m.value ->> '$.component' AND s.kind IN ('promote', 'rollback') AND (s.at, s.seq) > (r.at, r.seq)
				AND later.value ->> '$.component' = s.component AND later.value ->> '$.result' IN ('promoted', 'rolled back'))) END)`

	// An event is done when it was announced, unless it is the last one of its kind about its
	// component: evidence shows how things came to be as they are.
	eventDone = `r.seq <= :announced AND (` + projectGone + ` OR EXISTS (
		SELECT 1 FROM events AS n WHERE n.project = r.project AND n.kind = r.kind AND (n.at, n.seq) > (r.at, r.seq) AND n.component = r.component))`
)

const (
	// compactMost bounds the rows that one transaction looks at.
	compactMost = 500
	// compactLeast is how few it looks at however long they take.
	compactLeast = 16
	// compactTime is how long a transaction may take before the next one looks at fewer rows: who
	// writes meanwhile waits for it.
	compactTime = 2 * time.Millisecond
)

// Compact removes the rows that the rule lets go at now, a few hundred in a
// transaction, and tells removed of each batch after its commit. It may be
// stopped anywhere, and goes on where rows are left.
func (s *Store) Compact(ctx context.Context, now time.Time, keep Keep, removed func(table string, rows int64)) error {
	for _, a := range agings {
		age := a.kept(keep)
		if age <= 0 {
			continue
		}
		if err := s.compact(ctx, a, now.Add(-age).UnixNano(), keep, removed); err != nil {
			return fmt.Errorf("compact %s: %w", a.table, err)
		}
	}
	return nil
}

// compact goes through a table from its old end, until a stretch of it has no
// old row any more. Numbers and instants increase together, but for rows that tell of
// something a while after it happened.
func (s *Store) compact(ctx context.Context, a aging, before int64, keep Keep, removed func(string, int64)) error {
	stretch := fmt.Sprintf(`SELECT coalesce(max(n), 0), coalesce(sum(at < :before), 0)
		FROM (SELECT %s AS n, %s AS at FROM %s WHERE %[1]s > :after ORDER BY %[1]s LIMIT :limit)`, a.seq, a.at, a.table)
	limit := compactLeast
	for after := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var last, old int64
		err := s.file.Reader().QueryRowContext(ctx, stretch, sql.Named("before", before), sql.Named("after", after), sql.Named("limit", limit)).Scan(&last, &old)
		if err != nil || old == 0 {
			return err
		}
		rows, took, err := s.compactStretch(ctx, a, before, after, last, keep)
		if err != nil {
			return err
		}
		if rows > 0 {
			removed(a.table, rows)
		}
		switch after = last; {
		case took > compactTime:
			limit = max(limit/2, compactLeast)
		case took < compactTime/4:
			limit = min(limit*2, compactMost)
		}
	}
}

// compactStretch removes what may go behind one row and up to another, in one transaction.
func (s *Store) compactStretch(ctx context.Context, a aging, before, after, last int64, keep Keep) (rows int64, took time.Duration, err error) {
	err = s.file.Update(ctx, "compact "+a.table, func(tx *sql.Tx) error {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		if a.trail {
			_, err := tx.ExecContext(ctx, `INSERT INTO compacted (trail, before) VALUES (?, ?)
				ON CONFLICT (trail) DO UPDATE SET before = excluded.before WHERE excluded.before > before`, a.table, before)
			if err != nil {
				return err
			}
		}
		args := []any{sql.Named("before", before), sql.Named("after", after), sql.Named("last", last)}
		if a.table == "events" {
			announced, err := announcedIn(ctx, tx, keep.Announced, last)
			if err != nil {
				return err
			}
			args = append(args, sql.Named("announced", announced))
		}
		result, err := tx.ExecContext(ctx, fmt.Sprintf(`DELETE FROM %s AS r WHERE r.%s > :after AND r.%[2]s <= :last AND r.%s < :before AND %s`,
			a.table, a.seq, a.at, a.done), args...)
		if err != nil {
			return err
		}
		rows, err = result.RowsAffected()
		return err
	})
	return rows, took, err
}

// announcedIn is the number of the last event that was announced; all of them where nobody announces.
func announcedIn(ctx context.Context, tx *sql.Tx, cursor string, all int64) (announced int64, err error) {
	if cursor == "" {
		return all, nil
	}
	err = tx.QueryRowContext(ctx, `SELECT coalesce((SELECT CAST(value AS INTEGER) FROM cursors WHERE name = ?), 0)`, cursor).Scan(&announced)
	return announced, err
}
