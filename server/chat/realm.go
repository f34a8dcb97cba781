package chat

import (
	"time"
)

// longPollTimeout is how long a client should wait for an answer of GET /events, in seconds.
const longPollTimeout = 90

// realmState is the organisation's settings that a client of this server can act on.
func (s *Server) realmState(who account) map[string]any {
	return map[string]any{
		"realm_name": s.cfg.Realm, "realm_uri": s.cfg.URL, "realm_url": s.cfg.URL, "realm_description": "",
		"max_message_length": s.cfg.MaxContent, "max_topic_length": MaxTopic,
		"max_stream_name_length": MaxStreamName, "max_stream_description_length": MaxDescription,
		"event_queue_longpoll_timeout_seconds":            longPollTimeout,
		"realm_allow_message_editing":                     true,
		"realm_message_content_edit_limit_seconds":        int(editLimit / time.Second),
		"realm_move_messages_within_stream_limit_seconds": int(moveLimit / time.Second),
		"realm_allow_edit_history":                        true,
		"realm_mandatory_topics":                          true,
		"realm_wildcard_mention_policy":                   7, // moderators, in channels of more than 15
		"realm_bot_domain":                                "localhost",
		"realm_presence_disabled":                         true,
		"realm_invite_required":                           true,
		"realm_empty_topic_display_name":                  "general chat",
		"server_generation":                               1,
		"server_presence_ping_interval_seconds":           60,
		"server_presence_offline_threshold_seconds":       140,
		"can_create_streams":                              who.Role < RoleGuest,
		"can_create_public_streams":                       who.Role < RoleGuest,
		"can_create_private_streams":                      false,
		"can_create_web_public_streams":                   false,
		"can_subscribe_other_users":                       who.Role < RoleGuest,
		"can_invite_others_to_realm":                      false,
	}
}
