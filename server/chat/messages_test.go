package chat_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/chat"
)

func TestAChannelMessageHasZulipsShape(t *testing.T) {
	at := newClock()
	w := open(t, t.TempDir()+"/chat.db", func(c *chat.Config) { c.Now = at.now })
	ann, bob := w.person("Ann Example"), w.person("Bob")
	w.stream("Denmark", ann, bob)
	queue := bob.register(form{"event_types": []string{"message"}})
	echo := ann.register(form{"event_types": []string{"message"}, "apply_markdown": true})
	other := ann.register(form{"event_types": []string{"message"}})
	sent := ann.ok("POST", "/messages", form{"type": "stream", "to": "denmark", "topic": " castle ", "content": "to **be**\n\n", "queue_id": echo, "local_id": "12.01"})["id"]

	e := bob.events(queue, -1)[0]
	assert.Equal(t, "message", e["type"])
	assert.Equal(t, []any{}, e["flags"])
	assert.NotContains(t, e, "local_message_id")
	m := e["message"].(map[string]any)
	assert.Equal(t, map[string]any{
		"id": sent, "type": "stream", "stream_id": 1.0, "display_recipient": "Denmark", "subject": "castle",
		"sender_id": float64(ann.ID), "sender_email": "ann.example@chat.test", "sender_full_name": "Ann Example", "sender_realm_str": "platform",
		"content": "to **be**", "content_type": "text/x-markdown", "timestamp": float64(at.now().Unix()), "client": "test",
		"recipient_id": 1.0, "is_me_message": false, "reactions": []any{}, "submessages": []any{}, "topic_links": []any{}, "avatar_url": nil,
	}, m)

	e = ann.events(echo, -1)[0]
	assert.Equal(t, "12.01", e["local_message_id"], "on the queue that was named")
	assert.Equal(t, "<p>to <strong>be</strong></p>", e["message"].(map[string]any)["content"])
	assert.Equal(t, "text/html", e["message"].(map[string]any)["content_type"])
	assert.NotContains(t, ann.events(other, -1)[0], "local_message_id", "and on no other")
}

func TestADirectMessageReachesItsMembersAlone(t *testing.T) {
	w := fresh(t)
	ann, bob, eve := w.person("Ann"), w.person("Bob"), w.person("Eve")
	queues := map[*actor]string{}
	for _, a := range []*actor{ann, bob, eve} {
		queues[a] = a.register(form{"event_types": []string{"message"}, "all_public_streams": true})
	}
	sent := id(ann.ok("POST", "/messages", form{"type": "private", "to": bob.Email, "content": "psst"})["id"])
	for _, to := range []any{[]int64{bob.ID}, bob.ID, []string{bob.Email}, ann.Email + ", " + bob.Email} {
		ann.ok("POST", "/messages", form{"type": "direct", "to": to, "content": "psst"})
	}
	for _, a := range []*actor{ann, bob} {
		list := a.events(queues[a], -1)
		require.Len(t, list, 5, a.FullName)
		for _, e := range list {
			m := e["message"].(map[string]any)
			assert.Equal(t, "private", m["type"])
			assert.Equal(t, "", m["subject"])
			assert.NotContains(t, m, "stream_id")
			assert.Equal(t, []any{
				map[string]any{"id": float64(ann.ID), "email": ann.Email, "full_name": "Ann", "is_mirror_dummy": false},
				map[string]any{"id": float64(bob.ID), "email": bob.Email, "full_name": "Bob", "is_mirror_dummy": false},
			}, m["display_recipient"])
			assert.EqualValues(t, 1, m["recipient_id"], "one conversation, however it is addressed")
		}
	}
	assert.Empty(t, eve.events(queues[eve], -1))
	assert.Empty(t, eve.messages(form{}))
	eve.fails(400, "BAD_REQUEST", "GET", "/messages/"+itoa(sent), nil)
	eve.fails(400, "BAD_REQUEST", "POST", "/messages/"+itoa(sent)+"/reactions", form{"emoji_name": "eyes"})
	eve.fails(400, "BAD_REQUEST", "PATCH", "/messages/"+itoa(sent), form{"content": "x"})
	assert.Empty(t, eve.messages(form{"message_ids": []int64{sent}}))
	assert.Len(t, bob.messages(form{"narrow": []any{[]string{"is", "dm"}}}), 5)
	assert.Len(t, bob.messages(form{"narrow": []form{{"operator": "dm", "operand": []int64{ann.ID}}}}), 5)
	assert.Empty(t, bob.messages(form{"narrow": []form{{"operator": "dm", "operand": []int64{eve.ID}}}}))
}

func TestLongContentAndTopicsAreCutSilently(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann")
	w.stream("general", ann)
	ann.post("general", strings.Repeat("ö", 61), strings.Repeat("é", 10_001))
	ann.post("general", strings.Repeat("ö", 60), strings.Repeat("é", 10_000))
	got := ann.messages(form{"apply_markdown": false})
	content := got[0]["content"].(string)
	assert.Equal(t, 10_000, len([]rune(content)))
	assert.True(t, strings.HasSuffix(content, "é\n[message truncated]"))
	assert.Equal(t, strings.Repeat("ö", 57)+"...", got[0]["subject"])
	assert.Equal(t, strings.Repeat("é", 10_000), got[1]["content"])
	assert.Equal(t, strings.Repeat("ö", 60), got[1]["subject"])
}

func TestAnOrganisationMayTakeShorterMessages(t *testing.T) {
	w := open(t, t.TempDir()+"/chat.db", func(c *chat.Config) { c.MaxContent = 50 })
	ann := w.person("Ann")
	w.stream("general", ann)
	assert.EqualValues(t, 50, ann.ok("POST", "/register", form{"fetch_event_types": []string{"realm"}})["max_message_length"])
	sent := ann.post("general", "t", strings.Repeat("🦉", 50))
	raw := func() string {
		return ann.ok("GET", "/messages/"+itoa(sent), form{"apply_markdown": false})["raw_content"].(string)
	}
	assert.Equal(t, strings.Repeat("🦉", 50), raw(), "code points are counted, not bytes")
	ann.ok("PATCH", "/messages/"+itoa(sent), form{"content": strings.Repeat("ö", 51)})
	assert.Equal(t, strings.Repeat("ö", 30)+"\n[message truncated]", raw())

	for _, n := range []int{-1, 5, 10_001} {
		_, err := chat.New(t.Context(), chat.Config{Path: t.TempDir() + "/chat.db", URL: site, MaxContent: n})
		require.ErrorContains(t, err, fmt.Sprintf("MaxContent %d", n))
	}
}

func TestWhoHearsAMessage(t *testing.T) {
	w := fresh(t)
	ann, bob, eve, bot, idle := w.person("Ann"), w.person("Bob"), w.person("Eve"), w.bot("platform"), w.bot("idle")
	w.stream("general", ann, bob)
	queues := map[string]string{}
	for _, a := range []*actor{ann, bob, eve, bot, idle} {
		queues[a.FullName] = a.register(form{"event_types": []string{"message"}})
	}
	wide := eve.register(form{"event_types": []string{"message"}, "all_public_streams": true})
	narrowed := bob.register(form{"event_types": []string{"message"}, "narrow": [][]string{{"is", "mentioned"}}})
	topic := bob.register(form{"event_types": []string{"message"}, "narrow": [][]string{{"stream", "General"}, {"topic", "Other"}}})
	sent := ann.post("general", "t", "@**platform** and @**Eve** and @**Bob**")
	flags := func(a *actor, queue string) any {
		list := a.events(queue, -1)
		if len(list) == 0 {
			return nil
		}
		require.Equal(t, sent, id(list[0]["message"].(map[string]any)["id"]))
		return list[0]["flags"]
	}
	assert.Equal(t, []any{}, flags(ann, queues["Ann"]), "its sender, who is subscribed")
	assert.Equal(t, []any{"mentioned"}, flags(bob, queues["Bob"]))
	assert.Equal(t, []any{"mentioned"}, flags(bot, queues["platform"]), "a mentioned bot without being subscribed")
	assert.Nil(t, flags(eve, queues["Eve"]), "not a mentioned person who is not subscribed")
	assert.Nil(t, flags(idle, queues["idle"]))
	assert.Equal(t, []any{}, flags(eve, wide), "a queue of all public channels")
	assert.Equal(t, []any{"mentioned"}, flags(bob, narrowed))
	assert.Nil(t, flags(bob, topic))
	ann.post("general", "other", "unflagged")
	assert.Len(t, bob.events(narrowed, -1), 1)
	assert.Len(t, bob.events(topic, -1), 1, "channel and topic are compared without case")
	assert.Len(t, bot.messages(form{"narrow": [][]string{{"is", "mentioned"}}}), 1, "the bot can look back for it")
}

func TestWildcardsSetTheirOwnFlagsOnly(t *testing.T) {
	w := fresh(t)
	ann, bob, eve := w.person("Ann"), w.person("Bob"), w.person("Eve")
	w.stream("general", ann, bob, eve)
	bob.post("general", "t", "I take part")
	flags := func(a *actor, content string) any {
		sent := ann.post("general", "t", content)
		return a.ok("GET", "/messages/"+itoa(sent), nil)["message"].(map[string]any)["flags"]
	}
	for _, name := range []string{"all", "everyone", "stream", "channel"} {
		assert.Equal(t, []any{"stream_wildcard_mentioned", "wildcard_mentioned"}, flags(bob, "@**"+name+"** hi"))
	}
	assert.Equal(t, []any{"topic_wildcard_mentioned", "wildcard_mentioned"}, flags(bob, "@**topic** hi"))
	assert.Equal(t, []any{}, flags(eve, "@**topic** hi"), "who does not take part in the topic is not meant")
	assert.Equal(t, []any{}, flags(bob, "@_**all** hi"))

	var crowd []*actor
	for n := range 16 {
		crowd = append(crowd, w.person(fmt.Sprint("Crowd ", n)))
	}
	w.stream("crowded", crowd...)
	crowd[0].fails(400, "STREAM_WILDCARD_MENTION_NOT_ALLOWED", "POST", "/messages", form{"type": "stream", "to": "crowded", "topic": "t", "content": "@**all**"})
	for _, a := range crowd {
		a.post("crowded", "t", "here")
	}
	crowd[0].fails(400, "TOPIC_WILDCARD_MENTION_NOT_ALLOWED", "POST", "/messages", form{"type": "stream", "to": "crowded", "topic": "t", "content": "@**topic**"})
	w.account("Ada", false, chat.RoleAdmin).post("crowded", "t", "@**all** @**topic**")
}

func TestMessagesAroundAnAnchor(t *testing.T) {
	w := fresh(t)
	ann, bob := w.person("Ann"), w.person("Bob")
	w.stream("general", ann)
	var all []int64
	for n := range 10 {
		all = append(all, ann.post("general", fmt.Sprint("topic ", n%2), fmt.Sprint("number ", n)))
	}
	late := w.person("Late")
	w.stream("general", late)
	all = append(all, ann.post("general", "topic 0", "a 50% deal"))
	secret := id(ann.ok("POST", "/messages", form{"type": "direct", "to": []int64{bob.ID}, "content": "number of secrets"})["id"])
	type window struct {
		ids                    []int64
		anchor, oldest, newest bool
	}
	get := func(a *actor, f form) window {
		body := a.ok("GET", "/messages", f)
		got := window{ids: []int64{}}
		for _, m := range body["messages"].([]any) {
			got.ids = append(got.ids, id(m.(map[string]any)["id"]))
		}
		got.anchor, _ = body["found_anchor"].(bool)
		got.oldest, _ = body["found_oldest"].(bool)
		got.newest, _ = body["found_newest"].(bool)
		return got
	}
	general := []any{"channel", "general"}
	cases := []struct {
		name string
		who  *actor
		form form
		want window
	}{
		{"the newest", ann, form{"anchor": "newest", "num_before": 2, "num_after": 0}, window{[]int64{all[10], secret}, false, false, true}},
		{"the oldest", ann, form{"anchor": "oldest", "num_before": 0, "num_after": 2}, window{all[:2], false, true, false}},
		{"around one", ann, form{"anchor": all[4], "num_before": 2, "num_after": 1}, window{all[2:6], true, false, false}},
		{"around one, without it", ann, form{"anchor": all[4], "num_before": 1, "num_after": 1, "include_anchor": false}, window{[]int64{all[3], all[5]}, false, false, false}},
		{"only the anchor", ann, form{"anchor": all[4], "num_before": 0, "num_after": 0}, window{all[4:5], true, false, false}},
		{"everything after a handled one", ann, form{"anchor": all[9], "num_before": 0, "num_after": 100, "include_anchor": false}, window{[]int64{all[10], secret}, false, false, true}},
		{"a topic", ann, form{"anchor": "newest", "num_before": 3, "num_after": 0, "narrow": []any{general, []any{"topic", "TOPIC 1"}}}, window{[]int64{all[5], all[7], all[9]}, false, false, true}},
		{"not a topic", ann, form{"anchor": "oldest", "num_before": 0, "num_after": 2, "narrow": []any{general, form{"operator": "topic", "operand": "topic 0", "negated": true}}}, window{[]int64{all[1], all[3]}, false, true, false}},
		{"a channel by id", ann, form{"anchor": "newest", "num_before": 1, "num_after": 0, "narrow": []form{{"operator": "channel", "operand": 1}}}, window{all[10:], false, false, true}},
		{"a sender", ann, form{"anchor": "newest", "num_before": 1, "num_after": 0, "narrow": []any{[]any{"sender", ann.Email}}}, window{[]int64{secret}, false, false, true}},
		{"a search", ann, form{"anchor": "newest", "num_before": 5, "num_after": 0, "narrow": []any{[]any{"search", "NUMBER 7"}}}, window{all[7:8], false, true, true}},
		{"a search for a wildcard of SQL", ann, form{"anchor": "newest", "num_before": 5, "num_after": 0, "narrow": []any{[]any{"search", "50%"}}}, window{all[10:], false, true, true}},
		{"one by id", ann, form{"anchor": "newest", "num_before": 5, "num_after": 0, "narrow": []form{{"operator": "id", "operand": all[3]}}}, window{all[3:4], false, true, true}},
		{"no direct ones", ann, form{"anchor": "newest", "num_before": 1, "num_after": 0, "narrow": []any{[]any{"-is", "dm"}}}, window{all[10:], false, false, true}},
		{"what came before one subscribed is not in the feed", late, form{"anchor": "oldest", "num_before": 0, "num_after": 9}, window{all[10:], false, true, true}},
		{"but in the channel", late, form{"anchor": "oldest", "num_before": 0, "num_after": 2, "narrow": []any{general}}, window{all[:2], false, true, false}},
		{"another's direct messages stay out of every narrow", late, form{"anchor": "newest", "num_before": 9, "num_after": 0, "narrow": []any{[]any{"search", "secrets"}}}, window{[]int64{}, false, true, true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, get(c.who, c.form)) })
	}
	late.ok("POST", "/messages/flags", form{"messages": all, "op": "add", "flag": "read"})
	first := ann.ok("GET", "/messages", form{"anchor": "first_unread", "num_before": 0, "num_after": 1})
	assert.Equal(t, all[0], id(first["anchor"]), "one's flags are one's own")
	history := late.ok("GET", "/messages/"+itoa(all[0]), nil)["message"].(map[string]any)
	assert.Equal(t, []any{"read", "historical"}, history["flags"])
}

func TestFlagsAreSetAndAnnouncedToTheirOwner(t *testing.T) {
	w := fresh(t)
	ann, bob := w.person("Ann"), w.person("Bob")
	w.stream("general", ann, bob)
	one, two := ann.post("general", "t", "1"), ann.post("general", "t", "2")
	queue := bob.register(nil)
	assert.Equal(t, []any{float64(one), float64(two)}, bob.ok("POST", "/messages/flags", form{"messages": []int64{one, two, 99}, "op": "add", "flag": "read"})["messages"])
	e := bob.events(queue, -1)[0]
	assert.Equal(t, "update_message_flags", e["type"])
	unread := form{"narrow": [][]string{{"is", "unread"}}}
	assert.Empty(t, bob.messages(unread))
	assert.Len(t, ann.messages(unread), 2)
	bob.ok("POST", "/messages/flags", form{"messages": []int64{two}, "op": "remove", "flag": "read"})
	assert.Len(t, bob.messages(unread), 1)
	sent := id(ann.ok("POST", "/messages", form{"type": "stream", "to": "general", "topic": "t", "content": "3", "read_by_sender": true})["id"])
	assert.Equal(t, []any{"read"}, ann.ok("GET", "/messages/"+itoa(sent), nil)["message"].(map[string]any)["flags"])
}

func TestEditsAreTheSendersForTenMinutesAndTwentySeconds(t *testing.T) {
	at := newClock()
	w := open(t, t.TempDir()+"/chat.db", func(c *chat.Config) { c.Now = at.now })
	ann, bob := w.person("Ann"), w.bot("platform")
	w.stream("general", ann)
	sent := ann.post("general", "t", "frist")
	path := "/messages/" + itoa(sent)
	queue, deaf := ann.register(form{"event_types": []string{"update_message"}, "queue_lifespan_secs": 3600}), bob.register(form{"queue_lifespan_secs": 3600})
	bob.fails(400, "BAD_REQUEST", "PATCH", path, form{"content": "mine"})
	ann.fails(400, "BAD_REQUEST", "PATCH", path, form{})

	at.advance(619 * time.Second)
	ann.ok("PATCH", path, form{"content": "first @**platform**"})
	e := ann.events(queue, -1)[0]
	for name, want := range map[string]any{"user_id": ann.ID, "message_id": sent, "rendering_only": false, "edit_timestamp": at.now().Unix(),
		"orig_content": "frist", "content": "first @**platform**", "stream_id": 1, "stream_name": "general"} {
		assert.EqualValues(t, want, e[name], name)
	}
	assert.Empty(t, bob.events(deaf, -1), "a mention that an edit adds starts nothing")
	m := ann.ok("GET", path, nil)["message"].(map[string]any)
	assert.EqualValues(t, at.now().Unix(), m["last_edit_timestamp"])
	history := ann.ok("GET", path+"/history", nil)["message_history"].([]any)
	require.Len(t, history, 2)
	assert.Equal(t, "frist", history[0].(map[string]any)["content"])
	assert.Equal(t, "first @**platform**", history[1].(map[string]any)["content"])

	at.advance(2 * time.Second)
	body := ann.fails(400, "BAD_REQUEST", "PATCH", path, form{"content": "too late"})
	assert.Contains(t, body["msg"], "time limit")
	assert.Equal(t, "first @**platform**", ann.ok("GET", path, form{"apply_markdown": false})["raw_content"])
}

func TestAnEditMovesTheMentionFlags(t *testing.T) {
	w := fresh(t)
	ann, bob, eve := w.person("Ann"), w.person("Bob"), w.person("Eve")
	w.stream("general", ann, bob, eve)
	sent := ann.post("general", "t", "@**Bob**")
	queue := eve.register(form{"event_types": []string{"update_message"}})
	ann.ok("PATCH", "/messages/"+itoa(sent), form{"content": "@**Eve**"})
	assert.Equal(t, []any{"mentioned"}, eve.events(queue, -1)[0]["flags"])
	mentioned := form{"narrow": [][]string{{"is", "mentioned"}}}
	assert.Empty(t, bob.messages(mentioned))
	assert.Len(t, eve.messages(mentioned), 1)
}

func TestTopicsAreChangedByTheSenderOrAModerator(t *testing.T) {
	w := fresh(t)
	ann, bob, mo := w.person("Ann"), w.person("Bob"), w.account("Mo", false, chat.RoleModerator)
	w.stream("general", ann, bob, mo)
	one, two, three := ann.post("general", "old", "1"), bob.post("general", "old", "2"), ann.post("general", "old", "3")
	ann.ok("PATCH", "/messages/"+itoa(one), form{"topic": "new"})
	bob.fails(400, "BAD_REQUEST", "PATCH", "/messages/"+itoa(three), form{"topic": "new"})
	ann.fails(400, "BAD_REQUEST", "PATCH", "/messages/"+itoa(three), form{"topic": "new", "propagate_mode": "change_all"})
	queue := bob.register(form{"event_types": []string{"update_message"}})
	mo.ok("PATCH", "/messages/"+itoa(three), form{"topic": "new", "propagate_mode": "change_all"})
	e := bob.events(queue, -1)[0]
	assert.Equal(t, []any{float64(two), float64(three)}, e["message_ids"])
	assert.Equal(t, "old", e["orig_subject"])
	assert.Equal(t, []any{map[string]any{"name": "new", "max_id": float64(three)}}, ann.ok("GET", "/users/me/1/topics", nil)["topics"])

	w.stream("other", ann)
	ann.ok("PATCH", "/messages/"+itoa(three), form{"topic": "newer", "stream_id": 1}) // as clients rename a topic
	assert.Equal(t, "newer", ann.messages(form{"message_ids": []int64{three}})[0]["subject"])
	got := ann.fails(400, "BAD_REQUEST", "PATCH", "/messages/"+itoa(three), form{"topic": "newest", "stream_id": 2})
	assert.Contains(t, got["msg"], "another channel")
	for _, wrong := range []any{0, -1, "x"} {
		ann.fails(400, "BAD_REQUEST", "PATCH", "/messages/"+itoa(three), form{"topic": "newest", "stream_id": wrong})
	}
}

func TestReactions(t *testing.T) {
	w := fresh(t)
	ann, bot := w.person("Ann"), w.bot("platform")
	w.stream("general", ann)
	sent := ann.post("general", "t", "@**platform** promote")
	path := "/messages/" + itoa(sent) + "/reactions"
	queue := ann.register(form{"event_types": []string{"reaction"}})
	for name, code := range map[string]string{"eyes": "1f440", "check": "2705", "cross_mark": "274c", "no_entry": "26d4",
		"working_on_it": "1f6e0", "+1": "1f44d", "tada": "1f389", "octopus": "1f419"} {
		bot.ok("POST", path, form{"emoji_name": name})
		bot.fails(400, "REACTION_ALREADY_EXISTS", "POST", path, form{"emoji_name": name, "emoji_code": code})
	}
	bot.fails(400, "REACTION_ALREADY_EXISTS", "POST", path, form{"emoji_name": "thumbs_up"}) // another name of +1
	bot.fails(400, "BAD_REQUEST", "POST", path, form{"emoji_name": "eyes", "emoji_code": "2705"})
	bot.ok("DELETE", path, form{"emoji_name": "eyes"})
	bot.ok("DELETE", path, form{"emoji_code": "2705", "reaction_type": "unicode_emoji"})
	bot.fails(400, "REACTION_DOES_NOT_EXIST", "DELETE", path, form{"emoji_name": "eyes"})
	ann.fails(400, "REACTION_DOES_NOT_EXIST", "DELETE", path, form{"emoji_name": "tada"})

	list := ann.events(queue, -1)
	require.Len(t, list, 10)
	assert.Equal(t, "add", list[0]["op"])
	assert.Equal(t, map[string]any{"id": list[8]["id"], "type": "reaction", "op": "remove", "user_id": float64(bot.ID), "message_id": float64(sent),
		"emoji_name": "eyes", "emoji_code": "1f440", "reaction_type": "unicode_emoji"}, list[8])
	got := ann.messages(form{})[0]["reactions"].([]any)
	require.Len(t, got, 6)
	assert.Contains(t, got, map[string]any{"emoji_name": "tada", "emoji_code": "1f389", "reaction_type": "unicode_emoji", "user_id": float64(bot.ID)})
}

func TestSubscriptionsMakeChannelsAndSayWhatWasThere(t *testing.T) {
	w := fresh(t)
	ann, bob, bot, ada := w.person("Ann"), w.person("Bob"), w.bot("platform"), w.account("Ada", false, chat.RoleAdmin)
	queue, watcher := bob.register(form{"event_types": []string{"subscription", "stream"}}), ann.register(form{"event_types": []string{"subscription", "stream"}})
	got := bot.ok("POST", "/users/me/subscriptions", form{"subscriptions": []form{{"name": "shop", "description": "the shop"}}, "principals": []any{bot.ID, bob.ID}})
	assert.Equal(t, map[string]any{itoa(bot.ID): []any{"shop"}, itoa(bob.ID): []any{"shop"}}, got["subscribed"])
	assert.Equal(t, map[string]any{}, got["already_subscribed"])
	got = bot.ok("POST", "/users/me/subscriptions", form{"subscriptions": []form{{"name": "SHOP"}}, "principals": []string{bob.Email, ada.Email}})
	assert.Equal(t, map[string]any{itoa(ada.ID): []any{"shop"}}, got["subscribed"])
	assert.Equal(t, map[string]any{itoa(bob.ID): []any{"shop"}}, got["already_subscribed"])

	assert.Equal(t, []string{"stream create", "subscription add", "subscription peer_add"}, ops(bob.events(queue, -1)))
	assert.Equal(t, []string{"stream create", "subscription peer_add", "subscription peer_add"}, ops(ann.events(watcher, -1)))
	mine := bob.ok("GET", "/users/me/subscriptions", form{"include_subscribers": true})["subscriptions"].([]any)
	require.Len(t, mine, 1)
	assert.Equal(t, []any{float64(bob.ID), float64(bot.ID), float64(ada.ID)}, mine[0].(map[string]any)["subscribers"])
	assert.EqualValues(t, 1, ann.ok("GET", "/get_stream_id", form{"stream": "shop"})["stream_id"])
	assert.Equal(t, "the shop", ann.ok("GET", "/streams/1", nil)["stream"].(map[string]any)["description"])

	guest := w.account("Guest", false, chat.RoleGuest)
	guest.fails(400, "BAD_REQUEST", "POST", "/users/me/subscriptions", form{"subscriptions": []form{{"name": "made by a guest"}}})
	guest.fails(400, "BAD_REQUEST", "POST", "/users/me/subscriptions", form{"subscriptions": []form{{"name": "shop"}}, "principals": []int64{ann.ID}})
	assert.Len(t, ann.ok("GET", "/streams", nil)["streams"], 1)
	ann.fails(400, "BAD_REQUEST", "DELETE", "/users/me/subscriptions", form{"subscriptions": []string{"shop"}, "principals": []int64{bob.ID}})
	assert.Equal(t, []any{"shop"}, ada.ok("DELETE", "/users/me/subscriptions", form{"subscriptions": []string{"shop"}, "principals": []int64{bob.ID}})["removed"])
	assert.Equal(t, []any{"shop"}, bob.ok("DELETE", "/users/me/subscriptions", form{"subscriptions": []string{"shop"}})["not_removed"])
	assert.Equal(t, []any{float64(bot.ID), float64(ada.ID)}, ann.ok("GET", "/streams/1/members", nil)["subscribers"])
	got = bob.ok("PATCH", "/users/me/subscriptions", form{"add": []form{{"name": "shop"}}, "delete": []string{"shop"}})
	assert.Equal(t, map[string]any{itoa(bob.ID): []any{"shop"}}, got["subscribed"])
	assert.Equal(t, []any{"shop"}, got["removed"])
}

func ops(list []map[string]any) []string {
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprint(e["type"], " ", e["op"]))
	}
	return out
}

func TestUsersAreFoundByIDAndAddress(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann")
	queue := ann.register(form{"event_types": []string{"realm_user"}})
	bot := w.bot("platform")
	assert.Equal(t, []string{"realm_user add"}, ops(ann.events(queue, -1)))
	assert.Len(t, ann.ok("GET", "/users", nil)["members"], 2)
	assert.Equal(t, true, ann.ok("GET", "/users/"+itoa(bot.ID), nil)["user"].(map[string]any)["is_bot"])
	assert.EqualValues(t, bot.ID, ann.ok("GET", "/users/platform@chat.test", nil)["user"].(map[string]any)["user_id"])
	me := bot.ok("GET", "/users/me", nil)
	assert.Equal(t, []any{true, 400.0, "platform"}, []any{me["is_bot"], me["role"], me["full_name"]})
	ann.ok("POST", "/users/me/presence", form{"status": "active"})
	ann.ok("POST", "/typing", form{"op": "start", "to": []int64{bot.ID}, "type": "direct"})
	assert.Equal(t, map[string]any{}, ann.ok("GET", "/realm/emoji", nil)["emoji"])
	assert.Equal(t, "<p>a <em>b</em></p>", ann.ok("POST", "/messages/render", form{"content": "a *b*"})["rendered"])
}

func TestAccountsWithImpossibleNamesAreRefused(t *testing.T) {
	w := fresh(t)
	for _, u := range []chat.NewUser{
		{Email: "a@chat.test", FullName: "A|12"}, {Email: "a@chat.test", FullName: "A*B"}, {Email: "a@chat.test", FullName: "A@B"},
		{Email: "a@chat.test", FullName: ""}, {Email: "a@chat.test", FullName: " A"}, {Email: "nowhere", FullName: "A"},
		{Email: "A <a@chat.test>", FullName: "A"}, {Email: "a@chat.test", FullName: "A", Role: 1},
	} {
		_, err := w.server.EnsureUser(t.Context(), u)
		assert.Error(t, err, "%+v", u)
	}
	assert.Error(t, w.server.EnsureStream(t.Context(), "general", "", 99), "a subscriber must exist")
	assert.Error(t, w.server.EnsureStream(t.Context(), strings.Repeat("n", 61), ""))
}
