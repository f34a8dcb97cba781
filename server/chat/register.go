package chat

import (
	"context"
	"slices"
	"time"
)

// maxNarrow is the number of terms in a narrow.
const maxNarrow = 30

// initial is the part of /register's answer that one fetched event type brings.
type initial struct {
	kind string
	load func(s *Server, ctx context.Context, who account, withMembers bool) (map[string]any, error)
}

// initials is the state that /register can tell.
var initials = []initial{
	{"realm", func(s *Server, _ context.Context, who account, _ bool) (map[string]any, error) {
		return s.realmState(who), nil
	}},
	{"realm_user", func(s *Server, _ context.Context, who account, _ bool) (map[string]any, error) {
		return map[string]any{
			"realm_users": s.members(), "realm_non_active_users": []any{}, "cross_realm_bots": []any{},
			"user_id": who.ID, "email": who.Email, "delivery_email": who.Email, "full_name": who.FullName,
			"is_admin": who.Role <= RoleAdmin, "is_owner": who.Role <= RoleOwner, "is_moderator": who.Role <= RoleModerator,
			"is_guest": who.Role == RoleGuest, "is_billing_admin": false, "avatar_url": s.avatarURL(who.ID),
		}, nil
	}},
	{"realm_user_groups", func(s *Server, _ context.Context, _ account, _ bool) (map[string]any, error) {
		return map[string]any{"realm_user_groups": systemGroups(s.people.all())}, nil
	}},
	{"realm_emoji", func(*Server, context.Context, account, bool) (map[string]any, error) {
		return map[string]any{"realm_emoji": map[string]any{}}, nil
	}},
	{"message", func(s *Server, ctx context.Context, _ account, _ bool) (map[string]any, error) {
		last, err := lastMessage(ctx, s.file.Reader())
		return map[string]any{"max_message_id": last}, err
	}},
	{"stream", func(s *Server, ctx context.Context, _ account, _ bool) (map[string]any, error) {
		list, err := listStreams(ctx, s.file.Reader(), "")
		objects := make([]map[string]any, 0, len(list))
		for _, st := range list {
			objects = append(objects, streamObject(st))
		}
		return map[string]any{"streams": objects}, err
	}},
	{"subscription", func(s *Server, ctx context.Context, who account, withMembers bool) (map[string]any, error) {
		list, err := s.subscriptionObjects(ctx, who.ID, withMembers)
		return map[string]any{"subscriptions": list, "unsubscribed": []any{}, "never_subscribed": []any{}}, err
	}},
}

// register is POST /register: a new queue, and the state that its events change.
// The queue is open before the state is read, so that no change falls between.
func (s *Server) register(c *call) (reply, error) {
	p := c.params
	spec, err := s.queueSpec(c)
	if err != nil {
		return nil, err
	}
	fetch, err := p.strings("fetch_event_types")
	if err != nil {
		return nil, err
	}
	if fetch == nil {
		fetch = spec.kinds
	}
	withMembers, err := p.flag("include_subscribers", false)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"client_gravatar", "slim_presence", "presence_history_limit_days", "client_capabilities", "user_client"} {
		p.raw(name) // they shape what is not sent here
	}
	q := s.queues.open(spec)
	out := reply{"queue_id": q.id, "last_event_id": -1,
		"zulip_feature_level": featureLevel, "zulip_version": version, "zulip_merge_base": version}
	for _, part := range initials {
		if fetch != nil && !slices.Contains(fetch, part.kind) {
			continue
		}
		fields, err := part.load(s, c.ctx, c.who, withMembers)
		if err != nil {
			s.queues.drop(q)
			return nil, err
		}
		for name, value := range fields {
			out[name] = value
		}
	}
	return out, nil
}

// queueSpec reads the parameters that shape a queue.
func (s *Server) queueSpec(c *call) (queueSpec, error) {
	p, spec := c.params, queueSpec{user: c.who.ID, lifespan: defaultLifespan}
	var err error
	if spec.kinds, err = p.strings("event_types"); err != nil {
		return spec, err
	}
	if spec.allPublic, err = p.flag("all_public_streams", false); err != nil {
		return spec, err
	}
	if spec.applyMarkdown, err = p.flag("apply_markdown", false); err != nil {
		return spec, err
	}
	seconds, err := p.number("queue_lifespan_secs", 0)
	if err != nil {
		return spec, err
	}
	if seconds < 0 {
		return spec, bad("queue_lifespan_secs is negative")
	}
	if seconds > 0 {
		spec.lifespan = min(time.Duration(min(seconds, int64(maxLifespan/time.Second)))*time.Second, maxLifespan)
	}
	if spec.narrow, err = readNarrow(p, s); err != nil {
		return spec, err
	}
	for _, t := range spec.narrow {
		if t.op.match == nil {
			return spec, coded(codeBadNarrow, "Operator "+t.name+" not supported.")
		}
	}
	return spec, nil
}
