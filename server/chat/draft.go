package chat

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"
)

// maxRecipients is how many people a direct message may go to.
const maxRecipients = 100

// readers of the website and its like have read what they send; a program's messages are unread until read.
var readOnSending = []string{"website", "ZulipDesktop", "ZulipMobile", "ZulipElectron", "ZulipTerminal", "zulip-terminal"}

// draft is a message to send.
type draft struct {
	direct      []int64 // the other members, for a direct message
	stream      any     // for a channel message: its id as float64, or its name
	topic       string
	content     string
	read        bool // by its sender
	senderQueue string
	localID     string
	origin      string // the sender's own name for this sending; may be empty
}

// readDraft reads the parameters of a message.
func (s *Server) readDraft(c *call) (draft, error) {
	p := c.params
	var d draft
	kind, err := p.need("type")
	if err != nil {
		return d, err
	}
	to, err := p.need("to")
	if err != nil {
		return d, err
	}
	content, err := p.need("content")
	if err != nil {
		return d, err
	}
	topic := p.text("", "topic", "subject") // "subject" is the older name
	switch kind {
	case "stream", "channel":
		if d.stream, err = readStreamName(to); err != nil {
			return d, err
		}
		if d.topic, err = cleanTopic(topic); err != nil {
			return d, err
		}
	case "direct", "private":
		if d.direct, err = s.readPeople(to); err != nil {
			return d, err
		}
	default:
		return d, bad("Invalid message type: %s", kind)
	}
	if d.content, err = cleanContent(content, s.cfg.MaxContent); err != nil {
		return d, err
	}
	if d.read, err = p.flag("read_by_sender", slices.Contains(readOnSending, c.agent)); err != nil {
		return d, err
	}
	d.senderQueue, d.localID = p.text("", "queue_id"), cut(p.text("", "local_id"), 100, "")
	if origin := p.text("", "origin"); origin != "" { // with the content: a browser may send a page that it kept, with other words
		d.origin = secretHash(origin + "\n" + d.content)
	}
	p.raw("client")
	return d, nil
}

// truncatedMark is how a message ends that was cut, as Zulip's do.
const truncatedMark = "\n[message truncated]"

// cleanContent is a message's content as it is kept: trimmed, not empty, cut to the limit in code points.
func cleanContent(content string, limit int) (string, error) {
	content = strings.TrimLeft(strings.TrimRightFunc(content, unicode.IsSpace), "\n")
	if strings.TrimSpace(content) == "" {
		return "", bad("Message must not be empty")
	}
	if strings.Contains(content, "\x00") {
		return "", bad("Message must not contain null bytes")
	}
	return cut(content, limit, truncatedMark), nil
}

// cleanTopic is a topic as it is kept: trimmed, not empty, cut to the limit.
func cleanTopic(topic string) (string, error) {
	topic = strings.TrimSpace(topic)
	if topic == "" || topic == "(no topic)" {
		return "", bad("Topics are required in this organization.")
	}
	if err := checkPrintable(topic, "topic"); err != nil {
		return "", err
	}
	return cut(topic, MaxTopic, "..."), nil
}

// readStreamName reads "to" of a channel message: an id, a name as JSON, a list of one, or a bare name.
func readStreamName(to string) (any, error) {
	var v any = to
	if json.Valid([]byte(to)) {
		if err := json.Unmarshal([]byte(to), &v); err != nil {
			return nil, bad("to: %v", err)
		}
	}
	if list, ok := v.([]any); ok {
		if len(list) != 1 {
			return nil, bad("Expected exactly one channel")
		}
		v = list[0]
	}
	if id, ok := v.(float64); ok && id != math.Trunc(id) {
		return nil, bad("Invalid data type for channel")
	}
	switch v.(type) {
	case string, float64:
		return v, nil
	default:
		return nil, bad("Invalid data type for channel")
	}
}

// readPeople reads "to" of a direct message: ids or addresses as a JSON list,
// one of them, or bare addresses separated by commas.
func (s *Server) readPeople(to string) ([]int64, error) {
	var v any = to
	if json.Valid([]byte(to)) {
		if err := json.Unmarshal([]byte(to), &v); err != nil {
			return nil, bad("to: %v", err)
		}
	}
	list, ok := v.([]any)
	if text, isText := v.(string); isText {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	} else if !ok {
		list = []any{v}
	}
	switch {
	case len(list) == 0:
		return nil, bad("Message must have recipients")
	case len(list) > maxRecipients:
		return nil, bad("Message has %d recipients: at most %d", len(list), maxRecipients)
	}
	_, texts := list[0].(string)
	var people []int64
	for _, one := range list {
		if _, text := one.(string); text != texts {
			return nil, bad("Recipient lists may contain emails or user IDs, but not both.")
		}
		a, err := s.resolveUser(one)
		if err != nil {
			return nil, err
		}
		people = append(people, a.ID)
	}
	return people, nil
}
