package zulip

import (
	"fmt"
	"io"
	"strings"

	"gopkg.in/ini.v1"
)

// rcLimit bounds a .zuliprc: five short lines in practice.
const rcLimit = 64 << 10

// RC is what a .zuliprc says: the file that Zulip lets a bot's owner download.
type RC struct {
	Site, Email, Key string

	Insecure      bool   // accept any certificate
	CertBundle    string // path of a CA bundle
	ClientCert    string // path
	ClientCertKey string // path
}

// ParseRC reads a .zuliprc: an INI file with one section, [api]. Email, key and
// site are required; the error names the one that is missing and never shows a value.
func ParseRC(r io.Reader) (RC, error) {
	text, err := io.ReadAll(io.LimitReader(r, rcLimit+1))
	if err != nil {
		return RC{}, fmt.Errorf("read zuliprc: %w", err)
	}
	if len(text) > rcLimit {
		return RC{}, fmt.Errorf("zuliprc is larger than %d bytes", rcLimit)
	}
	file, err := ini.LoadSources(ini.LoadOptions{IgnoreInlineComment: true, IgnoreContinuation: true}, text)
	if err != nil {
		// The parser's own error quotes the line, which may hold the key.
		return RC{}, fmt.Errorf("zuliprc is no INI file: every line must be a [section], a comment, or name=value")
	}
	if !file.HasSection("api") {
		return RC{}, fmt.Errorf("zuliprc has no section [api]")
	}
	api := file.Section("api")
	rc := RC{
		Site: value(api, "site"), Email: value(api, "email"), Key: value(api, "key"),
		CertBundle: value(api, "cert_bundle"), ClientCert: value(api, "client_cert"), ClientCertKey: value(api, "client_cert_key"),
	}
	if rc.Insecure, err = truth("insecure", value(api, "insecure")); err != nil {
		return RC{}, fmt.Errorf("zuliprc: %w", err)
	}
	return rc, rc.complete()
}

// Override replaces what the environment sets (ZULIP_EMAIL, ZULIP_API_KEY,
// ZULIP_SITE, ZULIP_CERT, ZULIP_CERT_KEY, ZULIP_CERT_BUNDLE, ZULIP_ALLOW_INSECURE); lookup is os.LookupEnv in a program.
func (rc RC) Override(lookup func(string) (string, bool)) (RC, error) {
	for name, field := range map[string]*string{
		"ZULIP_EMAIL": &rc.Email, "ZULIP_API_KEY": &rc.Key, "ZULIP_SITE": &rc.Site,
		"ZULIP_CERT": &rc.ClientCert, "ZULIP_CERT_KEY": &rc.ClientCertKey, "ZULIP_CERT_BUNDLE": &rc.CertBundle,
	} {
		if v, ok := lookup(name); ok && v != "" {
			*field = v
		}
	}
	if v, ok := lookup("ZULIP_ALLOW_INSECURE"); ok && v != "" {
		insecure, err := truth("ZULIP_ALLOW_INSECURE", v)
		if err != nil {
			return RC{}, err
		}
		rc.Insecure = insecure
	}
	return rc, rc.complete()
}

// complete tells whether the three required values are there.
func (rc RC) complete() error {
	for _, f := range []struct{ name, value string }{{"site", rc.Site}, {"email", rc.Email}, {"key", rc.Key}} {
		if f.value == "" {
			return fmt.Errorf("zuliprc: [api] has no %s", f.name)
		}
	}
	return nil
}

// value is a key of a section, unquoted as Zulip's own clients read it.
func value(s *ini.Section, name string) string { return strings.TrimSpace(s.Key(name).String()) }

// truth reads a flag the way Zulip's own clients do.
func truth(name, v string) (bool, error) {
	switch strings.ToLower(v) {
	case "":
		return false, nil
	case "1", "true", "yes", "on":
		return true, nil
	case "0", "false", "no", "off":
		return false, nil
	default:
		return false, fmt.Errorf("%s %q: say true or false", name, v)
	}
}
