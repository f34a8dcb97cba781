package slack

import "platform.dev/platform/commands"

// Link is the address of a posted message, "" for an id that is none and as long
// as Slack was not reached. Of a message of several parts it is the first's.
func (t *Transport) Link(to commands.Place, id string) string {
	channel, parts, err := splitID(id)
	if err != nil {
		return ""
	}
	thread := ""
	switch {
	case to.Stream == "":
	case timestamp.MatchString(to.Topic):
		thread = to.Topic
	default:
		thread = t.rootOf(channel, to.Topic)
	}
	return t.link(channel, thread, parts[0])
}

// link is the address of a message, as Slack writes it.
func (t *Transport) link(channel, thread, ts string) string {
	t.mu.Lock()
	site := t.self.site
	t.mu.Unlock()
	if site == "" {
		return ""
	}
	link := site + "archives/" + joinID(channel, ts)
	if thread != "" && thread != ts {
		link += "?thread_ts=" + thread + "&cid=" + channel
	}
	return link
}
