package chat

// What the server says it is. It speaks Zulip's API at this feature level and
// is not Zulip: the version says so.
const (
	featureLevel = 339
	version      = "10.0-dev+platform"
)

// serverSettings is GET /server_settings.
func (s *Server) serverSettings(*call) (reply, error) {
	return reply{
		"zulip_version": version, "zulip_merge_base": version, "zulip_feature_level": featureLevel,
		"authentication_methods":          map[string]bool{"password": false, "dev": false, "email": false, "ldap": false, "remoteuser": false},
		"external_authentication_methods": []any{},
		"push_notifications_enabled":      false, "is_incompatible": false, "email_auth_enabled": false,
		"require_email_format_usernames": true, "realm_uri": s.cfg.URL, "realm_url": s.cfg.URL,
		"realm_name": s.cfg.Realm, "realm_icon": s.cfg.URL + "/icon.svg", "realm_description": "",
		"realm_web_public_access_enabled": false,
	}, nil
}
