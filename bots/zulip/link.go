package zulip

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Permalink is the address of a message in the organisation at site; self is
// whose direct messages are linked.
func Permalink(site string, m Message, self int64) string {
	site = strings.TrimRight(site, "/")
	if stream := m.Stream(); stream != "" {
		slug := encode(strings.ReplaceAll(stream, " ", "-"))
		return fmt.Sprintf("%s/#narrow/channel/%d-%s/topic/%s/near/%d", site, m.StreamID, slug, encode(m.Topic), m.ID)
	}
	var ids []string
	for _, id := range m.Recipients() {
		if id != self {
			ids = append(ids, strconv.FormatInt(id, 10))
		}
	}
	kind := "dm"
	if len(ids) > 1 {
		kind = "group"
	}
	return fmt.Sprintf("%s/#narrow/dm/%s-%s/near/%d", site, strings.Join(ids, ","), kind, m.ID)
}

// encode is Zulip's own escaping of a name within a fragment: percent-encoding whose percent signs are dots.
func encode(name string) string {
	s := url.QueryEscape(name)
	s = strings.ReplaceAll(s, "+", "%20")
	s = strings.ReplaceAll(s, ".", "%2E")
	return strings.ReplaceAll(s, "%", ".")
}
