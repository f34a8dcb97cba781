package chat

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxDirects is how many direct conversations a page lists.
const maxDirects = 200

// directsModel is the reader's direct conversations, the newest first, and everybody to begin one with.
type directsModel struct {
	Conversations []directModel `json:"conversations"`
	Others        []person      `json:"others"`
}

func (*directsModel) title() string { return "Direct messages" }

// directModel is a line of the list.
type directModel struct {
	People  []person  `json:"people"`
	Names   string    `json:"names"`
	Address string    `json:"address"`
	Count   int       `json:"count"`
	Unread  int       `json:"unread"`
	Last    time.Time `json:"last_message_at"`
}

// directAddress is where the conversation with these people is read, the reader not among them.
func directAddress(others []int64) string {
	return "/direct/" + memberKey(slices.Clone(others))
}

// without is members without the reader; a conversation with oneself is with oneself.
func without(members []int64, reader int64) []int64 {
	others := slices.DeleteFunc(slices.Clone(members), func(id int64) bool { return id == reader })
	if len(others) == 0 {
		return members
	}
	return others
}

// pagePeople reads the people of an address: ids separated by commas.
func (s *Server) pagePeople(text string) ([]int64, error) {
	var people []int64
	for part := range strings.SplitSeq(text, ",") {
		id, err := strconv.ParseInt(part, 10, 64)
		if _, known := s.people.byID(id); err != nil || !known || len(people) == maxRecipients {
			return nil, sql.ErrNoRows
		}
		people = append(people, id)
	}
	return people, nil
}

// persons are accounts as pages show them, and their names in words.
func (s *Server) persons(list []int64) ([]person, string) {
	var people []person
	var names []string
	for _, id := range list {
		a, _ := s.people.byID(id)
		people, names = append(people, a.person()), append(names, a.FullName)
	}
	return people, strings.Join(names, ", ")
}

// directsPage lists the reader's direct conversations.
func (s *Server) directsPage(v *visit) (model, error) {
	count, err := s.unread(v.Context(), v.who.ID)
	if err != nil {
		return nil, err
	}
	m := &directsModel{Conversations: []directModel{}}
	err = eachRow(v.Context(), s.file.Reader(), func(scan func(...any) error) error {
		var d directModel
		var recipient, last, at int64
		var members string
		if err := scan(&recipient, &members, &last, &d.Count, &at); err != nil {
			return err
		}
		others := without(parseMembers(members), v.who.ID)
		d.People, d.Names = s.persons(others)
		d.Address, d.Last, d.Unread = directAddress(others), time.Unix(at, 0).UTC(), count.spots[spot{recipient: recipient}]
		m.Conversations = append(m.Conversations, d)
		return nil
	}, `SELECT r.id, r.members, max(m.id), count(*), m.sent_at FROM recipients r JOIN messages m ON m.recipient_id = r.id
		WHERE ',' || r.members || ',' LIKE '%,' || ? || ',%' GROUP BY r.id ORDER BY 3 DESC LIMIT ?`, v.who.ID, maxDirects)
	if err != nil {
		return nil, fmt.Errorf("read direct conversations: %w", err)
	}
	for _, a := range s.people.all() {
		if a.ID != v.who.ID && len(m.Others) < maxListed {
			m.Others = append(m.Others, a.person())
		}
	}
	return m, nil
}

// directPage shows a direct conversation, which need not have begun.
func (s *Server) directPage(v *visit) (model, error) {
	people, err := s.pagePeople(v.PathValue("people"))
	if err != nil {
		return nil, err
	}
	others := without(people, v.who.ID)
	m := &conversation{Address: directAddress(others), Messages: []messageModel{}}
	m.People, m.name = s.persons(others)
	m.Compose = s.newCompose(m.Address, m.name)
	key := memberKey(append(slices.Clone(others), v.who.ID))
	err = s.file.Reader().QueryRowContext(v.Context(), `SELECT id FROM recipients WHERE members = ?`, key).Scan(&m.recipient)
	if errors.Is(err, sql.ErrNoRows) {
		return m, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read direct conversation: %w", err)
	}
	return m, s.fill(v, m, spot{recipient: m.recipient})
}
