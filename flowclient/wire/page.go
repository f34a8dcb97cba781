package wire

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
)

// The bounds of a page. MaxCursor is in bytes.
const (
	DefaultLimit = 100
	MaxLimit     = 500
	MaxCursor    = 1000
)

// Page is the part of a list that is asked for.
type Page struct {
	Limit int    // items at most
	After string // the place of the item before the first; "" for none
}

// PageRequest reads which page of a list is asked for, from a query that may
// hold nothing else. A list is named by its path. *flowclient.Invalid.
func PageRequest(list, query string) (Page, error) {
	q, err := Query(query, "limit", "cursor")
	if err != nil {
		return Page{}, err
	}
	return PageOf(list, q)
}

// PageOf reads which page of a list is asked for, from the parameters limit (1
// to MaxLimit, else DefaultLimit) and cursor (the next of another page of the
// same list). *flowclient.Invalid.
func PageOf(list string, q map[string]string) (Page, error) {
	p := Page{Limit: DefaultLimit}
	if text, asked := q["limit"]; asked {
		var err error
		if p.Limit, err = strconv.Atoi(text); err != nil || p.Limit < 1 || p.Limit > MaxLimit {
			return Page{}, invalid("limit", text, "must be a number from 1 to %d", MaxLimit)
		}
	}
	if text, asked := q["cursor"]; asked {
		key, err := base64.RawURLEncoding.Strict().DecodeString(text)
		of, place, whole := strings.Cut(string(key), cursorMark)
		if err != nil || len(text) > MaxCursor || of != list || !whole || place == "" {
			return Page{}, invalid("cursor", text, "is no cursor of this list; send the next of a page of it, or none to begin with the first")
		}
		p.After = place
	}
	return p, nil
}

// cursorMark stands between a cursor's list and its place.
const cursorMark = "\n"

// Cursor is what asks for the items behind a place of a list, told as next. A
// place is a text that an item keeps and no other item has, so that a list may
// grow and shrink between two pages without an item being missed or told twice.
func Cursor(list, place string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + cursorMark + place))
}

// PageQuery is the query that asks for the largest page behind a cursor; "" asks for the first.
func PageQuery(cursor string) string {
	q := url.Values{"limit": {strconv.Itoa(MaxLimit)}}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return q.Encode()
}
