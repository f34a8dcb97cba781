package chat

import (
	"context"
	"database/sql"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pageMessages is how many messages a page shows.
const pageMessages = 100

// messageView is a message on a page.
type messageView struct {
	ID        int64
	Sender    string
	Bot       bool
	At        time.Time
	Edited    bool
	HTML      template.HTML
	Reactions []reactionView
}

// reactionView is an emoji under a message with those who chose it.
type reactionView struct {
	Emoji, Title string
	Count        int
}

// topicPage shows a topic: its newest messages, those around ?near=, or those
// ?before= or ?after= a message.
func (s *Server) topicPage(r *http.Request) (*template.Template, any, error) {
	st, err := s.pageStream(r)
	if err != nil {
		return nil, nil, err
	}
	name, err := narrowDecode(r.PathValue("topic"))
	if err != nil {
		return nil, nil, sql.ErrNoRows
	}
	list, err := s.topicMessages(r.Context(), r.URL.Query(), st, name)
	if err != nil {
		return nil, nil, err
	}
	view := map[string]any{"Realm": s.cfg.Realm, "Stream": st, "Older": "", "Newer": ""}
	var oldest, newest int64
	err = s.file.Reader().QueryRowContext(r.Context(), `SELECT min(id), max(id) FROM messages WHERE recipient_id = ? AND topic_key = ? HAVING count(*) > 0`,
		st.Recipient, fold(name)).Scan(&oldest, &newest)
	if err != nil {
		return nil, nil, err
	}
	messages, err := loadMessages(r.Context(), s.file.Reader(), 0, list)
	if err != nil {
		return nil, nil, err
	}
	resolve := s.names(r.Context())
	resolve.page = true
	var views []messageView
	for _, m := range messages {
		name = m.Topic // as it is spelled last
		views = append(views, s.messageView(m, resolve))
	}
	if len(views) > 0 {
		if first := views[0].ID; first > oldest {
			view["Older"] = fmt.Sprintf("%s?before=%d", topicAddress(st.ID, name), first)
		}
		if last := views[len(views)-1].ID; last < newest {
			view["Newer"] = fmt.Sprintf("%s?after=%d", topicAddress(st.ID, name), last)
		}
	}
	view["Topic"], view["Messages"], view["Title"] = name, views, name+" · #"+st.Name
	return s.pages.topic, view, nil
}

// topicMessages are the ids of the messages that a page's query asks for, ascending.
func (s *Server) topicMessages(ctx context.Context, query url.Values, st stream, name string) ([]int64, error) {
	at := func(key string) int64 {
		n, err := strconv.ParseInt(query.Get(key), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	read := func(bound string, id int64, order string, limit int) ([]int64, error) {
		return ids(ctx, s.file.Reader(), `SELECT id FROM messages WHERE recipient_id = ? AND topic_key = ? AND id `+bound+` ? ORDER BY id `+order+` LIMIT ?`,
			st.Recipient, fold(name), id, limit)
	}
	if after := at("after"); after > 0 {
		return read(">", after, "ASC", pageMessages)
	}
	before, near := at("before"), at("near")
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

// messageView is a message as a page shows it.
func (s *Server) messageView(m message, resolve names) messageView {
	sender, _ := s.people.byID(m.SenderID)
	body, _ := s.mill.render(m.Content, resolve)
	v := messageView{ID: m.ID, Sender: sender.FullName, Bot: sender.Bot, At: time.Unix(m.Sent, 0), Edited: m.Edited != 0,
		HTML: template.HTML(body)} // the mill writes escaped text between its own tags, and a fuzz test holds it to that
	var order []string
	who := map[string][]string{}
	for _, one := range m.reactions {
		code, _ := one["emoji_code"].(string)
		user, _ := one["user_id"].(int64)
		a, _ := s.people.byID(user)
		if who[code] == nil {
			order = append(order, code)
		}
		who[code] = append(who[code], a.FullName)
	}
	for _, code := range order {
		v.Reactions = append(v.Reactions, reactionView{Emoji: emojiText(code), Title: joinNames(who[code]), Count: len(who[code])})
	}
	return v
}

// joinNames joins names for a reaction's hint.
func joinNames(names []string) string {
	if len(names) > 10 {
		names = append(names[:10:10], fmt.Sprintf("%d more", len(names)-10))
	}
	return strings.Join(names, ", ")
}
