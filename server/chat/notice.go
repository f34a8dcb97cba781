package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// notice is one thing that happened, before each queue makes its own event of
// it. Who hears it: the users of audience, or everybody, and for a message the
// queues of all public channels.
type notice struct {
	kind     string
	audience map[int64]int // user id to the flags of the message that the user has
	everyone bool
	except   []int64 // with everyone
	public   bool    // a message of a public channel

	fields  map[string]any // of the event, unless it is a message
	post    *posted        // of a message event
	flagged bool           // the event tells each user's flags

	made map[variant][]byte // events already written, by what differs between queues
}

// posted is a message as it is announced.
type posted struct {
	message     message
	raw, html   []byte // the message object in both content types
	senderQueue string // the queue that is told localID
	localID     string
}

// variant is what two queues' events of one notice can differ by.
type variant struct {
	html  bool
	flags int
	local bool
}

// newNotice is an event of a kind with these fields, heard by nobody yet.
func newNotice(kind string, fields map[string]any) *notice {
	return &notice{kind: kind, fields: fields, audience: map[int64]int{}}
}

// to adds users to those who hear it.
func (n *notice) to(users ...int64) *notice {
	for _, id := range users {
		n.audience[id] |= 0
	}
	return n
}

// toAll makes everybody hear it.
func (n *notice) toAll() *notice { n.everyone = true; return n }

// toAllBut makes everybody but these users hear it.
func (n *notice) toAllBut(users ...int64) *notice {
	n.everyone, n.except = true, users
	return n
}

// reaches tells whether a user's queue hears it, and with which flags.
func (n *notice) reaches(user int64, allPublic bool) (flags int, ok bool) {
	if flags, ok = n.audience[user]; ok {
		return flags, true
	}
	if n.everyone {
		return 0, !slices.Contains(n.except, user)
	}
	return 0, n.public && allPublic
}

// body is the event of a variant as a JSON object without its id. Queues share it.
func (n *notice) body(v variant) ([]byte, error) {
	if b, ok := n.made[v]; ok {
		return b, nil
	}
	fields := map[string]any{"type": n.kind}
	for name, value := range n.fields {
		fields[name] = value
	}
	if n.flagged {
		fields["flags"] = flagNames(v.flags)
	}
	if n.post != nil {
		fields["message"] = json.RawMessage(n.post.raw)
		if v.html {
			fields["message"] = json.RawMessage(n.post.html)
		}
		if v.local {
			fields["local_message_id"] = n.post.localID
		}
	}
	b, err := encode(fields)
	if err != nil {
		return nil, fmt.Errorf("write event %s: %w", n.kind, err)
	}
	if n.made == nil {
		n.made = map[variant][]byte{}
	}
	n.made[v] = b
	return b, nil
}

// encode is v as JSON with HTML left readable.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// The flags of a user's copy of a message, as the file keeps them.
const (
	flagRead           = 1
	flagStarred        = 2
	flagCollapsed      = 4
	flagMentioned      = 8
	flagStreamWildcard = 16
	flagTopicWildcard  = 32

	flagsMentioned = flagMentioned | flagStreamWildcard | flagTopicWildcard // what "is:mentioned" finds
)

// flagTable names the flags, in the order in which they are told.
var flagTable = []struct {
	name     string
	mask     int
	settable bool // by POST /messages/flags
}{
	{"read", flagRead, true},
	{"starred", flagStarred, true},
	{"collapsed", flagCollapsed, true},
	{"mentioned", flagMentioned, false},
	{"stream_wildcard_mentioned", flagStreamWildcard, false},
	{"topic_wildcard_mentioned", flagTopicWildcard, false},
	{"wildcard_mentioned", flagStreamWildcard | flagTopicWildcard, false}, // the older name of both
}

// flagNames are the names of flags; never nil.
func flagNames(flags int) []string {
	names := []string{}
	for _, f := range flagTable {
		if flags&f.mask != 0 {
			names = append(names, f.name)
		}
	}
	return names
}

// isMe tells whether a message is spoken as an action: "/me waves".
func isMe(content string) bool {
	return strings.HasPrefix(content, "/me ") && !strings.Contains(content, "\n\n")
}
