package chat

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// term is one condition of a narrow, its operand resolved.
type term struct {
	name    string // as the client wrote it
	op      operator
	negated bool
	text    string   // the operand, folded
	id      int64    // the operand as an id: of a channel, a user or a message
	members string   // of a direct conversation, as in the table recipients
	words   []string // of a search
}

// operator is what a narrow's operator means: on a queue, and in SQL over
// messages m, recipients r and the reader's copies c. A nil match means that
// queues cannot filter by it.
type operator struct {
	read  func(s *Server, who any, t *term) error
	match func(t term, m message, flags int) bool
	where func(t term) (sql string, args []any)
}

// operators is every operator by name; newer and older names share a row.
var operators = map[string]operator{
	"channel": inChannel, "stream": inChannel,
	"topic": onTopic, "subject": onTopic,
	"sender": bySender, "from": bySender,
	"is": withState, "dm": inDirect, "pm-with": inDirect,
	"id": withID, "search": withWords,
}

var inChannel = operator{
	read: func(_ *Server, v any, t *term) error { return textOrID(v, t) },
	match: func(t term, m message, _ int) bool {
		return m.StreamID != 0 && (m.StreamID == t.id || t.text != "" && fold(m.StreamName) == t.text)
	},
	where: func(t term) (string, []any) {
		return `r.stream_id IN (SELECT id FROM streams WHERE id = ? OR name_key = ?)`, []any{t.id, t.text}
	},
}

var onTopic = operator{
	read: func(_ *Server, v any, t *term) error {
		text, ok := v.(string)
		if !ok {
			return badNarrow("topic is not a string")
		}
		t.text = fold(text)
		return nil
	},
	match: func(t term, m message, _ int) bool { return m.StreamID != 0 && fold(m.Topic) == t.text },
	where: func(t term) (string, []any) {
		return `(r.stream_id IS NOT NULL AND m.topic_key = ?)`, []any{t.text}
	},
}

var bySender = operator{
	read: func(s *Server, v any, t *term) error {
		a, err := s.resolveUser(v)
		if err != nil {
			return badNarrow("unknown user " + operandText(v))
		}
		t.id = a.ID
		return nil
	},
	match: func(t term, m message, _ int) bool { return m.SenderID == t.id },
	where: func(t term) (string, []any) { return `m.sender_id = ?`, []any{t.id} },
}

// states are the operands of "is", each with its flag mask; 0 needs no flag.
var states = map[string]int{"mentioned": flagsMentioned, "starred": flagStarred, "unread": flagRead, "dm": 0, "private": 0}

var withState = operator{
	read: func(_ *Server, v any, t *term) error {
		t.text = operandText(v)
		if _, ok := states[t.text]; !ok {
			return badNarrow("unknown 'is' operand " + t.text)
		}
		return nil
	},
	match: func(t term, m message, flags int) bool {
		switch t.text {
		case "dm", "private":
			return m.StreamID == 0
		case "unread":
			return flags&flagRead == 0
		case "mentioned": // queues hear of personal mentions alone; GET /messages counts wildcards too
			return flags&flagMentioned != 0
		default:
			return flags&states[t.text] != 0
		}
	},
	where: func(t term) (string, []any) {
		switch t.text {
		case "dm", "private":
			return `r.members IS NOT NULL`, nil
		case "unread":
			return `(c.flags IS NOT NULL AND c.flags & 1 = 0)`, nil
		default:
			return `(c.flags IS NOT NULL AND c.flags & ? <> 0)`, []any{states[t.text]}
		}
	},
}

var inDirect = operator{
	read: func(s *Server, v any, t *term) error {
		list, ok := v.([]any)
		if !ok {
			list = nil
			for part := range strings.SplitSeq(operandText(v), ",") {
				list = append(list, part)
			}
		}
		var ids []int64
		for _, one := range list {
			a, err := s.resolveUser(one)
			if err != nil {
				return badNarrow("unknown user in dm")
			}
			ids = append(ids, a.ID)
		}
		if t.id != 0 { // the reader, who is a member of every conversation that is shown
			ids = append(ids, t.id)
		}
		t.members = memberKey(ids)
		return nil
	},
	where: func(t term) (string, []any) { return `r.members = ?`, []any{t.members} },
}

var withID = operator{
	read: func(_ *Server, v any, t *term) error {
		n, err := strconv.ParseInt(operandText(v), 10, 64)
		if err != nil {
			return badNarrow("id is not an integer")
		}
		t.id = n
		return nil
	},
	match: func(t term, m message, _ int) bool { return m.ID == t.id },
	where: func(t term) (string, []any) { return `m.id = ?`, []any{t.id} },
}

var withWords = operator{
	read: func(_ *Server, v any, t *term) error {
		t.words = strings.Fields(operandText(v))
		if len(t.words) == 0 {
			return badNarrow("search for nothing")
		}
		if len(t.words) > maxNarrow {
			return badNarrow("search for more than " + strconv.Itoa(maxNarrow) + " words")
		}
		return nil
	},
	where: func(t term) (string, []any) {
		var parts []string
		var args []any
		for _, w := range t.words {
			like := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(w) + "%"
			parts = append(parts, `(m.content LIKE ? ESCAPE '\' OR m.topic LIKE ? ESCAPE '\')`)
			args = append(args, like, like)
		}
		return "(" + strings.Join(parts, " AND ") + ")", args
	},
}

// textOrID keeps an operand that is a name or an id.
func textOrID(v any, t *term) error {
	switch v := v.(type) {
	case string:
		t.text = fold(v)
	case float64:
		if v != math.Trunc(v) {
			return badNarrow("id is not an integer")
		}
		t.id = int64(v)
	default:
		return badNarrow("operand is neither a name nor an id")
	}
	return nil
}

// operandText is an operand as text: numbers without a fraction.
func operandText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return ""
	}
}

func badNarrow(why string) error {
	return coded(codeBadNarrow, "Invalid narrow operator: "+why, "desc", why)
}

// readNarrow reads the parameter "narrow": [[operator, operand], ...] or
// [{"operator", "operand", "negated"}, ...].
func readNarrow(p *params, s *Server) ([]term, error) { return readNarrowFor(p, s, 0) }

// readNarrowFor is readNarrow for a reader, whose own id completes "dm".
func readNarrowFor(p *params, s *Server, reader int64) ([]term, error) {
	var list []json.RawMessage
	if _, err := p.json("narrow", &list, "a list of terms"); err != nil {
		return nil, err
	}
	if len(list) > maxNarrow {
		return nil, bad("narrow has %d terms: at most %d", len(list), maxNarrow)
	}
	var terms []term
	for _, raw := range list {
		var named struct {
			Operator string `json:"operator"`
			Operand  any    `json:"operand"`
			Negated  bool   `json:"negated"`
		}
		var pair []any
		if json.Unmarshal(raw, &pair) == nil && len(pair) == 2 {
			named.Operator, _ = pair[0].(string)
			named.Operand = pair[1]
		} else if err := json.Unmarshal(raw, &named); err != nil || named.Operator == "" {
			return nil, bad("narrow: %s is not a term", cut(string(raw), 80, "..."))
		}
		t := term{name: named.Operator, negated: named.Negated}
		if rest, ok := strings.CutPrefix(t.name, "-"); ok {
			t.name, t.negated = rest, !t.negated
		}
		op, ok := operators[t.name]
		if !ok {
			return nil, badNarrow("unknown operator " + t.name)
		}
		t.op, t.id = op, reader
		if t.op.where == nil || t.name != "dm" && t.name != "pm-with" {
			t.id = 0
		}
		if err := op.read(s, named.Operand, &t); err != nil {
			return nil, err
		}
		terms = append(terms, t)
	}
	return terms, nil
}

// matches tells whether a message meets every term.
func matches(terms []term, m message, flags int) bool {
	for _, t := range terms {
		if t.op.match(t, m, flags) == t.negated {
			return false
		}
	}
	return true
}

// memberKey names a direct conversation: its members' ids, each once, ascending.
func memberKey(ids []int64) string {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(parts, ",")
}
