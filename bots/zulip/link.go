package zulip

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"platform.dev/platform/commands"
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

// Link is the address of a message by its id alone, "31" or "31,32": the organisation's
// own pages find where it stands.
func (t *Transport) Link(_ commands.Place, id string) string {
	ids, err := splitIDs(id)
	if err != nil {
		return ""
	}
	return strings.TrimRight(t.client.Site(), "/") + "/#narrow/near/" + strconv.FormatInt(ids[0], 10)
}

// encode is Zulip's own escaping of a name within a fragment: percent-encoding whose percent signs are dots.
func encode(name string) string {
	s := url.QueryEscape(name)
	s = strings.ReplaceAll(s, "+", "%20")
	s = strings.ReplaceAll(s, ".", "%2E")
	return strings.ReplaceAll(s, "%", ".")
}
