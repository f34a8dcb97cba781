package chat

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	searchResults = 100
	maxQuery      = 200 // code points
)

// searchModel is what a search found, the newest first.
type searchModel struct {
	Query    string         `json:"query"`
	Problem  string         `json:"problem,omitempty"`
	More     bool           `json:"more"` // older ones are not shown
	Messages []messageModel `json:"messages"`
}

func (m *searchModel) title() string {
	if m.Query == "" {
		return "Search"
	}
	return "Search: " + m.Query
}

// searchPage finds messages by words and by Zulip's operators that need no
// quoting: channel:, topic:, sender: an address, is:mentioned, is:unread, is:starred, is:dm.
func (s *Server) searchPage(v *visit) (model, error) {
	m := &searchModel{Query: strings.TrimSpace(v.URL.Query().Get("q")), Messages: []messageModel{}}
	if m.Query == "" {
		return m, nil
	}
	if utf8.RuneCountInString(m.Query) > maxQuery || !utf8.ValidString(m.Query) {
		return nil, bad("Search for at most %d characters", maxQuery)
	}
	c := &call{ctx: v.Context(), who: v.who}
	cond, err := s.searchCondition(c, m.Query)
	var e *apiError
	if errors.As(err, &e) {
		m.Problem = strings.TrimPrefix(e.msg, "Invalid narrow operator: ")
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := s.pick(c, cond, "DESC", searchResults+1)
	if err != nil {
		return nil, err
	}
	if m.More = len(list) > searchResults; m.More {
		list = list[:searchResults]
	}
	if m.Messages, err = s.messageModels(v, list); err != nil {
		return nil, err
	}
	slices.Reverse(m.Messages)
	return m, nil
}

// searchCondition translates a query: channels are open to every reader of
// pages, direct conversations to their members.
func (s *Server) searchCondition(c *call, query string) (condition, error) {
	var terms []term
	var words []string
	for _, word := range strings.Fields(query) {
		name, operand, found := strings.Cut(word, ":")
		op, known := operators[name]
		if !found || !known || operand == "" || name == "id" || name == "search" {
			words = append(words, word)
			continue
		}
		if (name == "is" || name == "dm" || name == "pm-with") && c.who.ID == 0 {
			return condition{}, badNarrow("sign in to search with " + name + ":")
		}
		t := term{name: name, op: op}
		if name == "dm" || name == "pm-with" {
			t.id = c.who.ID
		}
		if err := op.read(s, operand, &t); err != nil {
			return condition{}, err
		}
		terms = append(terms, t)
	}
	if len(words) > 0 {
		t := term{name: "search", op: withWords}
		if err := withWords.read(s, strings.Join(words, " "), &t); err != nil {
			return condition{}, err
		}
		terms = append(terms, t)
	}
	if len(terms) > maxNarrow {
		return condition{}, badNarrow("too many terms")
	}
	cond, err := s.condition(c, terms)
	return cond.and(`(r.stream_id IS NOT NULL OR c.flags IS NOT NULL)`), err
}
