package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"platform.dev/platform/flowclient"
)

// recordTable is one of those that records are rows of.
type recordTable struct {
	row     flowclient.Row
	rank    int // of one instant, what has a greater one is newer
	name    string
	columns string // beside seq and body
	scan    func(row scanner) (flowclient.Record, error)
	kinds   func(q flowclient.RecordQuery) []string
}

// recordTables are all of them, by rank.
var recordTables = []recordTable{
	{flowclient.RowDecision, 0, "decisions", `at`, scanDecisionRecord, func(q flowclient.RecordQuery) []string { return q.Decisions }},
	{flowclient.RowIntent, 1, "intents", `id, key, kind, asked, who, at, outcome`, scanIntentRecord, func(q flowclient.RecordQuery) []string { return q.Intents }},
	{flowclient.RowEvent, 2, "events", `key, kind, at, project, component, walkthrough`, scanEventRecord, func(q flowclient.RecordQuery) []string { return q.Events }},
}

// Records lists what is of the kinds asked for, newest first. Each
// kind is looked up in an index that holds it in order, so that no more rows
// are read than kinds times the limit, whatever the file holds. Of component,
// who and project the first that is given is what is looked up; rows that do
// not fit the others are passed over.
func (s *Store) Records(ctx context.Context, q flowclient.RecordQuery) ([]flowclient.Record, error) {
	if q.Limit <= 0 || len(q.Intents)+len(q.Events)+len(q.Decisions) == 0 {
		return nil, nil
	}
	places, err := s.recordPlaces(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	rows := map[recordPlace]flowclient.Record{}
	for _, t := range recordTables {
		if err := s.readRecords(ctx, t, places, q.Without, rows); err != nil {
			return nil, fmt.Errorf("records of %s: %w", t.name, err)
		}
	}
	found := make([]flowclient.Record, 0, len(places))
	for _, p := range places {
		found = append(found, rows[p])
	}
	return found, nil
}

// recordPlace is a row of one of the tables.
type recordPlace struct {
	rank int
	seq  int64
}

func (s *Store) recordPlaces(ctx context.Context, q flowclient.RecordQuery) (places []recordPlace, err error) {
	query, args := findRecords(q)
	rows, err := s.file.Reader().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var at int64
		var p recordPlace
		if err := rows.Scan(&at, &p.rank, &p.seq); err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	return places, rows.Err()
}

// findRecords is the statement that finds the places of records: of each kind
// by itself, then the newest of all of them.
func findRecords(q flowclient.RecordQuery) (query string, args []any) {
	var each []string
	for _, t := range recordTables {
		for _, kind := range slices.Compact(slices.Sorted(slices.Values(t.kinds(q)))) {
			one, its := findKind(t, q, kind)
			each, args = append(each, `SELECT * FROM (`+one+`)`), append(args, its...)
		}
	}
	return strings.Join(each, "\nUNION ALL ") + "\nORDER BY 1 DESC, 2 DESC, 3 DESC LIMIT ?", append(args, q.Limit)
}

// findKind is the part of the statement about one kind.
func findKind(t recordTable, q flowclient.RecordQuery, kind string) (query string, args []any) {
	from, place := t.name+` AS r`, `r`
	if q.Component != "" {
		from, place = `subjects AS c JOIN `+t.name+` AS r ON r.seq = c.seq`, `c`
	}
	at, seq := bound(q.Before, t.rank)
	where, args := []string{place + `.kind = ?`, `(` + place + `.at, ` + place + `.seq) < (?, ?)`}, []any{kind, at, seq}
	for _, narrow := range []struct{ column, value string }{{`c.component`, q.Component}, {`r.who <> '' AND r.who`, q.Who}, {`r.project`, q.Project}} {
		if narrow.value != "" {
			where, args = append(where, narrow.column+` = ?`), append(args, narrow.value)
		}
	}
	return fmt.Sprintf(`SELECT %[1]s.at, %[2]d, %[1]s.seq FROM `, place, t.rank) + from + ` WHERE ` + strings.Join(where, ` AND `) +
		` ORDER BY ` + place + `.at DESC, ` + place + `.seq DESC LIMIT ?`, append(args, q.Limit)
}

// bound is what the (at, seq) of a table's rows must be below to come after a
// place: of one instant the tables of a greater rank come first.
func bound(before flowclient.RecordMark, rank int) (at, seq int64) {
	if before.Seq == 0 {
		return math.MaxInt64, math.MaxInt64
	}
	i := slices.IndexFunc(recordTables, func(t recordTable) bool { return t.row == before.Row })
	switch at = before.At.UnixNano(); {
	case rank == i:
		return at, before.Seq
	case rank < i:
		return at, math.MaxInt64
	}
	return at, 0
}

// readRecords reads the rows of one table.
func (s *Store) readRecords(ctx context.Context, t recordTable, places []recordPlace, without []string, into map[recordPlace]flowclient.Record) error {
	body, args := `body`, []any{}
	if len(without) > 0 {
		body = `CAST(json_remove(CAST(body AS TEXT)` + strings.Repeat(`, ?`, len(without)) + `) AS BLOB)`
		for _, path := range without {
			args = append(args, path)
		}
	}
	seqs := 0
	for _, p := range places {
		if p.rank == t.rank {
			args, seqs = append(args, p.seq), seqs+1
		}
	}
	if seqs == 0 {
		return nil
	}
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT seq, `+body+`, `+t.columns+` FROM `+t.name+` WHERE seq IN (?`+strings.Repeat(`, ?`, seqs-1)+`)`, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := t.scan(rows)
		if err != nil {
			return err
		}
		into[recordPlace{rank: t.rank, seq: r.Seq}] = r
	}
	return rows.Err()
}

func scanEventRecord(row scanner) (flowclient.Record, error) {
	var e flowclient.Event
	var at int64
	var body []byte
	err := row.Scan(&e.Seq, &body, &e.Key, &e.Kind, &at, &e.Project, &e.Component, &e.Walkthrough)
	e.At, e.Body = instant(at), body
	return flowclient.Record{Seq: e.Seq, At: e.At, Event: &e}, err
}

func scanIntentRecord(row scanner) (flowclient.Record, error) {
	var in flowclient.Intent
	var seq, at int64
	var body, outcome []byte
	err := row.Scan(&seq, &body, &in.ID, &in.Key, &in.Kind, &in.Asked, &in.Who, &at, &outcome)
	in.At, in.Body, in.Outcome = instant(at), body, outcome
	return flowclient.Record{Seq: seq, At: in.At, Intent: &in}, err
}

func scanDecisionRecord(row scanner) (flowclient.Record, error) {
	var d flowclient.Decision
	var seq, at int64
	var body []byte
	if err := row.Scan(&seq, &body, &at); err != nil {
		return flowclient.Record{}, err
	}
	if err := json.Unmarshal(body, &d); err != nil {
		return flowclient.Record{}, fmt.Errorf("decision %d: %w", seq, err)
	}
	d.At = instant(at)
	return flowclient.Record{Seq: seq, At: d.At, Decision: &d}, nil
}

// Happened lists a project's events of the kinds from one instant (included)
// to another (not included), in the order in which they happened, at most limit.
func (s *Store) Happened(ctx context.Context, project string, kinds []string, from, to time.Time, limit int) ([]flowclient.Event, error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	args := []any{project}
	for _, kind := range kinds {
		args = append(args, kind)
	}
	return s.events(ctx, happened(len(kinds)), append(args, from.UnixNano(), to.UnixNano(), limit)...)
}

// happened narrows events to a project, so many kinds and a stretch of time.
func happened(kinds int) string {
	return `WHERE project = ? AND kind IN (?` + strings.Repeat(`, ?`, kinds-1) + `) AND at >= ? AND at < ? ORDER BY at, seq LIMIT ?`
}
