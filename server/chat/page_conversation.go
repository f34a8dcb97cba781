package chat

import (
	"context"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	pageMessages = 100 // that a page shows

	// sameWithin is how soon after another a message of the same person is
	// shown under one name with it.
	sameWithin = 5 * time.Minute
)

// conversation is a topic or a direct conversation, with its newest messages,
// those around ?near=, or those ?before= or ?after= a message.
type conversation struct {
	Stream   *streamRef     `json:"stream,omitempty"` // of a topic
	Topic    string         `json:"topic,omitempty"`
	People   []person       `json:"people,omitempty"` // of a direct conversation, beside the reader
	Address  string         `json:"address"`
	Older    string         `json:"older,omitempty"` // the page before
	Newer    string         `json:"newer,omitempty"` // the page after: without one, this page is where new messages appear
	Last     int64          `json:"last_message_id"` // on the page
	Messages []messageModel `json:"messages"`
	Compose  *compose       `json:"-"`

	name      string
	recipient int64
}

func (m *conversation) title() string       { return m.name }
func (m *conversation) at() (int64, string) { return m.recipient, fold(m.Topic) }

// streamRef names a channel.
type streamRef struct {
	ID      int64  `json:"stream_id"`
	Name    string `json:"name"`
	Address string `json:"address"`
}

// messageModel is a message on a page.
type messageModel struct {
	ID        int64           `json:"id"`
	Sender    person          `json:"sender"`
	At        time.Time       `json:"sent_at"`
	Edited    bool            `json:"edited"`
	Action    bool            `json:"is_me_message"` // spoken as "/me ..."
	Unread    bool            `json:"unread"`
	Mentioned bool            `json:"mentioned"`
	HTML      template.HTML   `json:"content"`
	Reactions []reactionModel `json:"reactions"`
	Address   string          `json:"address"` // of the message in its conversation
	Place     string          `json:"place"`   // the conversation, in words

	FirstOfDay bool   `json:"-"` // the first on the page of its day
	Same       bool   `json:"-"` // shown under the name of the message before
	Known      bool   `json:"-"` // the reader can react
	Editable   bool   `json:"-"` // and, for now, edit
	Deletable  bool   `json:"-"` // and delete
	Back       string `json:"-"` // the page that shows it
}

// reactionModel is an emoji under a message with those who chose it.
type reactionModel struct {
	Name  string `json:"emoji_name"`
	Emoji string `json:"emoji"`
	Who   string `json:"who"`
	Count int    `json:"count"`
	Mine  bool   `json:"mine"`
}

// quickReactions are the emoji that a page offers.
var quickReactions = []reactionModel{
	{Name: "thumbs_up", Emoji: "👍"}, {Name: "check", Emoji: "✅"}, {Name: "cross_mark", Emoji: "❌"}, {Name: "eyes", Emoji: "👀"},
	{Name: "tada", Emoji: "🎉"}, {Name: "heart", Emoji: "❤"}, {Name: "thinking", Emoji: "🤔"}, {Name: "rocket", Emoji: "🚀"},
}

// pickPage are the ids of the messages of a conversation that a query asks for, ascending.
func (s *Server) pickPage(ctx context.Context, query url.Values, at spot) ([]int64, error) {
	number := func(key string) int64 {
		n, err := strconv.ParseInt(query.Get(key), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	read := func(bound string, id int64, order string, limit int) ([]int64, error) {
		return ids(ctx, s.file.Reader(), `SELECT id FROM messages WHERE recipient_id = ? AND topic_key = ? AND id `+bound+` ? ORDER BY id `+order+` LIMIT ?`,
			at.recipient, at.topic, id, limit)
	}
	if query.Has("after") {
		return read(">", number("after"), "ASC", pageMessages)
	}
	before, near := number("before"), number("near")
	if near > 0 {
		later, err := read(">=", near, "ASC", pageMessages/2)
		if err != nil {
			return nil, err
		}
		earlier, err := read("<", near, "DESC", pageMessages-len(later))
		slices.Reverse(earlier)
		return append(earlier, later...), err
	}
	if before <= 0 {
		before = newestID
	}
	list, err := read("<", before, "DESC", pageMessages)
	slices.Reverse(list)
	return list, err
}

// fill reads the messages of a conversation that a visit asks for, and the links to those beside them.
func (s *Server) fill(v *visit, m *conversation, at spot) error {
	list, err := s.pickPage(v.Context(), v.URL.Query(), at)
	if err != nil {
		return err
	}
	var oldest, newest int64
	err = s.file.Reader().QueryRowContext(v.Context(), `SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM messages WHERE recipient_id = ? AND topic_key = ?`,
		at.recipient, at.topic).Scan(&oldest, &newest)
	if err != nil {
		return fmt.Errorf("read conversation: %w", err)
	}
	// The message before the first tells under whose name the first stands.
	var before []int64
	if len(list) > 0 {
		before, err = ids(v.Context(), s.file.Reader(), `SELECT id FROM messages WHERE recipient_id = ? AND topic_key = ? AND id < ? ORDER BY id DESC LIMIT 1`,
			at.recipient, at.topic, list[0])
		if err != nil {
			return err
		}
	}
	if m.Messages, err = s.messageModels(v, append(before, list...)); err != nil {
		return err
	}
	gather(m.Messages)
	m.Messages = m.Messages[len(before):]
	if len(m.Messages) > 0 && !v.URL.Query().Has("after") {
		m.Messages[0].FirstOfDay, m.Messages[0].Same = true, false
	}
	if len(list) == 0 {
		return nil
	}
	m.Last = list[len(list)-1]
	if list[0] > oldest {
		m.Older = fmt.Sprintf("%s?before=%d", m.Address, list[0])
	}
	if m.Last < newest {
		m.Newer = fmt.Sprintf("%s?after=%d", m.Address, m.Last)
	}
	return nil
}

// gather puts the messages of a person that follow each other under one name, and each day's under its date. What a
// bot says stands by itself, with its time: each is a document, of which nobody could tell where the next begins.
func gather(list []messageModel) {
	for i := range list {
		m := &list[i]
		if i == 0 {
			m.FirstOfDay = true
			continue
		}
		before := list[i-1]
		m.FirstOfDay = m.At.UTC().YearDay() != before.At.UTC().YearDay() || m.At.UTC().Year() != before.At.UTC().Year()
		m.Same = !m.FirstOfDay && !m.Sender.Bot && m.Sender.ID == before.Sender.ID && !m.Action && !before.Action && m.At.Sub(before.At) < sameWithin
	}
}

// messageModels reads messages by id as a page shows them to its reader.
func (s *Server) messageModels(v *visit, list []int64) ([]messageModel, error) {
	messages, err := loadMessages(v.Context(), s.file.Reader(), v.who.ID, list)
	if err != nil {
		return nil, err
	}
	resolve := s.names(v.Context())
	resolve.page, resolve.site, resolve.viewer = true, s.cfg.URL, v.who.ID
	out := make([]messageModel, 0, len(messages))
	for _, m := range messages {
		one := s.messageModel(m, resolve)
		one.Known, one.Back = v.known(), v.URL.RequestURI()
		one.Editable = v.known() && s.mayChange(m, v.who, change{content: &m.Content}) == nil
		one.Deletable = v.known() && s.mayDelete(m, v.who) == nil
		out = append(out, one)
	}
	return out, nil
}

// messageModel is a message as a page shows it.
func (s *Server) messageModel(m message, resolve names) messageModel {
	sender, _ := s.people.byID(m.SenderID)
	content := m.Content
	if isMe(content) {
		content = strings.TrimPrefix(content, "/me ")
	}
	body, _ := s.mill.render(content, resolve)
	v := messageModel{ID: m.ID, Sender: sender.person(), At: time.Unix(m.Sent, 0).UTC(), Edited: m.Edited != 0, Action: isMe(m.Content),
		Unread: m.Copied && m.Flags&flagRead == 0, Mentioned: m.Flags&flagsMentioned != 0,
		HTML:      template.HTML(body), // the mill writes escaped text between its own tags, and a fuzz test holds it to that
		Reactions: s.reactionModels(m, resolve.viewer)}
	v.Place = "Direct message"
	if m.StreamID != 0 {
		v.Place = "#" + m.StreamName + " › " + m.Topic
	}
	v.Address = fmt.Sprintf("%s?near=%d#message-%d", conversationAddress(m, resolve.viewer), m.ID, m.ID)
	return v
}

// reactionModels are the reactions of a message, each emoji once, in the order in which they came.
func (s *Server) reactionModels(m message, reader int64) []reactionModel {
	list := []reactionModel{}
	who := map[string][]string{}
	at := map[string]int{}
	for _, one := range m.reactions {
		code, _ := one["emoji_code"].(string)
		name, _ := one["emoji_name"].(string)
		user, _ := one["user_id"].(int64)
		a, _ := s.people.byID(user)
		if who[code] == nil {
			at[code] = len(list)
			list = append(list, reactionModel{Name: name, Emoji: emojiText(code)})
		}
		who[code] = append(who[code], a.FullName)
		r := &list[at[code]]
		r.Count, r.Who, r.Mine = r.Count+1, joinNames(who[code]), r.Mine || user == reader
	}
	return list
}

// joinNames joins names for a reaction's hint.
func joinNames(names []string) string {
	if len(names) > 10 {
		names = append(names[:10:10], fmt.Sprintf("%d more", len(names)-10))
	}
	return strings.Join(names, ", ")
}
