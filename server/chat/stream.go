package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// stream is a channel: public, with its history open to everyone.
type stream struct {
	ID, Recipient     int64
	Name, Description string
	Creator           sql.NullInt64
	Created           int64
	First             sql.NullInt64 // the oldest message
}

// streamColumns are what scanStream reads, from streams s and recipients r.
const streamColumns = `s.id, r.id, s.name, s.description, s.creator_id, s.created_at,
	(SELECT min(id) FROM messages WHERE recipient_id = r.id)
	FROM streams s JOIN recipients r ON r.stream_id = s.id`

func scanStream(scan func(...any) error) (stream, error) {
	var st stream
	err := scan(&st.ID, &st.Recipient, &st.Name, &st.Description, &st.Creator, &st.Created, &st.First)
	return st, err
}

// streamByID and streamByName find a channel; sql.ErrNoRows when there is none.
func streamByID(ctx context.Context, q querier, id int64) (stream, error) {
	return scanStream(q.QueryRowContext(ctx, `SELECT `+streamColumns+` WHERE s.id = ?`, id).Scan)
}

func streamByName(ctx context.Context, q querier, name string) (stream, error) {
	return scanStream(q.QueryRowContext(ctx, `SELECT `+streamColumns+` WHERE s.name_key = ?`, fold(name)).Scan)
}

// listStreams is every channel by name; where narrows it.
func listStreams(ctx context.Context, q querier, where string, args ...any) ([]stream, error) {
	rows, err := q.QueryContext(ctx, `SELECT `+streamColumns+where+` ORDER BY s.name_key`, args...)
	if err != nil {
		return nil, fmt.Errorf("read streams: %w", err)
	}
	defer rows.Close()
	var list []stream
	for rows.Next() {
		st, err := scanStream(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("read streams: %w", err)
		}
		list = append(list, st)
	}
	return list, rows.Err()
}

// fold is the form in which names and topics are compared.
func fold(name string) string { return strings.ToLower(name) }

// streamFault turns a missing row into the API's error for an unknown id.
func streamFault(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return bad("Invalid channel ID")
	}
	return err
}

// checkStreamName refuses a name as Zulip does.
func checkStreamName(name string) error {
	switch {
	case name == "":
		return bad("Channel name can't be empty.")
	case utf8.RuneCountInString(name) > MaxStreamName:
		return bad("Channel name too long (limit: %d characters).", MaxStreamName)
	}
	return checkPrintable(name, "channel name")
}

// checkPrintable refuses control characters in a name shown on one line.
func checkPrintable(text, what string) error {
	for i, r := range []rune(text) {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return bad("Invalid character in %s, at position %d.", what, i+1)
		}
	}
	return nil
}

// ensureStream finds a channel by name or makes it. creator 0 is the operator.
func (s *Server) ensureStream(ctx context.Context, tx *sql.Tx, name, description string, creator int64) (st stream, fresh bool, err error) {
	name = strings.TrimSpace(name)
	st, err = streamByName(ctx, tx, name)
	if !errors.Is(err, sql.ErrNoRows) {
		return st, false, err
	}
	if err := checkStreamName(name); err != nil {
		return stream{}, false, err
	}
	st = stream{Name: name, Description: cut(strings.ReplaceAll(description, "\n", " "), MaxDescription, ""),
		Creator: sql.NullInt64{Int64: creator, Valid: creator != 0}, Created: s.unix()}
	err = tx.QueryRowContext(ctx, `INSERT INTO streams (name, name_key, description, creator_id, created_at)
		VALUES (?, ?, ?, ?, ?) RETURNING id`, st.Name, fold(st.Name), st.Description, st.Creator, st.Created).Scan(&st.ID)
	if err == nil {
		err = tx.QueryRowContext(ctx, `INSERT INTO recipients (stream_id) VALUES (?) RETURNING id`, st.ID).Scan(&st.Recipient)
	}
	if err != nil {
		return stream{}, false, fmt.Errorf("make stream %s: %w", name, err)
	}
	return st, true, nil
}

// EnsureStream makes the channel, or finds the one with its name, and
// subscribes the users with these ids. It is durable when it returns.
func (s *Server) EnsureStream(ctx context.Context, name, description string, subscriberIDs ...int64) error {
	var who []account
	for _, id := range subscriberIDs {
		a, ok := s.people.byID(id)
		if !ok {
			return fmt.Errorf("subscribe to %s: no user has the id %d", name, id)
		}
		who = append(who, a)
	}
	return s.write(ctx, "subscription", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		_, notices, err := s.subscribeAll(ctx, tx, account{}, []newStream{{Name: name, Description: description}}, who)
		return notices, err
	})
}

// streamObject is a channel as the API shows it. Group ids are those of systemGroups.
func streamObject(st stream) map[string]any {
	return map[string]any{
		"stream_id": st.ID, "name": st.Name, "description": st.Description,
		"rendered_description": "<p>" + html.EscapeString(st.Description) + "</p>",
		"date_created":         st.Created, "creator_id": nullable(st.Creator),
		"invite_only": false, "is_archived": false, "is_web_public": false,
		"is_announcement_only": false, "is_recently_active": st.First.Valid,
		"history_public_to_subscribers": true, "stream_post_policy": 1,
		"message_retention_days": nil, "first_message_id": nullable(st.First), "stream_weekly_traffic": nil,
		"can_remove_subscribers_group": groupAdmins, "can_administer_channel_group": groupAdmins, "can_send_message_group": groupEveryone,
	}
}

// nullable is a number of the file as JSON has it.
func nullable(n sql.NullInt64) any {
	if !n.Valid {
		return nil
	}
	return n.Int64
}

// getStream is GET /streams/{stream_id}.
func (s *Server) getStream(c *call) (reply, error) {
	st, err := s.streamOf(c)
	if err != nil {
		return nil, err
	}
	return reply{"stream": streamObject(st)}, nil
}

// streamOf is the channel that the path names by id.
func (s *Server) streamOf(c *call) (stream, error) {
	id, err := c.id("stream_id", "channel ID")
	if err != nil {
		return stream{}, err
	}
	st, err := streamByID(c.ctx, s.file.Reader(), id)
	return st, streamFault(err)
}
