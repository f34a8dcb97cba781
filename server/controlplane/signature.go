package controlplane

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // GitHub's and Gitea's second header is made with it; it is checked beside a SHA-256, never alone
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/http"
	"net/url"
	"strings"

	"platform.dev/platform/server/web"
)

// The dialects that payloads come in.
type dialect int

const (
	dialectGitHub    dialect = iota // also Gitea, Gogs and the platform's own git server
	dialectGitLab                   // clone address under project
	dialectBitbucket                // changes under push
)

// providers tells by which header a delivery is recognised, in order of
// precedence. One delivery may carry several: Gitea sends its own, Gogs's and GitHub's.
var providers = []struct {
	header  string
	dialect dialect
}{
	{"X-Signature-256", dialectGitHub},
	{"X-Gitea-Signature", dialectGitHub},
	{"X-Hub-Signature-256", dialectGitHub},
	{"X-Gogs-Signature", dialectGitHub},
	{"X-Gitlab-Token", dialectGitLab},
	{"X-Event-Key", dialectBitbucket},
}

// signatures tells how each signature header is made. Every one that is present
// must verify: one forged header among good ones is a forged delivery.
var signatures = []struct {
	header string
	check  func(value string, signed []byte, secret string) bool
}{
	{"X-Signature-256", prefixedSHA256},
	{"X-Gitea-Signature", bareSHA256},
	{"X-Hub-Signature-256", prefixedSHA256},
	{"X-Gogs-Signature", bareSHA256},
	{"X-Gitlab-Token", func(value string, _ []byte, secret string) bool { return web.SameSecret(value, secret) }},
	{"X-Hub-Signature", hubSignature},
}

// providerOf picks the dialect of a delivery; 400 when no header tells it.
func providerOf(h http.Header) (dialect, error) {
	for _, p := range providers {
		if len(h.Values(p.header)) > 0 {
			return p.dialect, nil
		}
	}
	names := make([]string, len(providers))
	for i, p := range providers {
		names[i] = p.header
	}
	return 0, &problem{status: http.StatusBadRequest, Code: codeUnknownProvider,
		Message: "the git provider is not known: none of the headers " + strings.Join(names, ", ") + " is present"}
}

// verify checks every signature header over what was signed.
func verify(h http.Header, d dialect, signed []byte, secret string) error {
	for _, s := range signatures {
		for _, value := range h.Values(s.header) {
			if !s.check(value, signed, secret) {
				return say(http.StatusUnauthorized, "%s does not verify: the delivery was not signed with the shared secret", s.header)
			}
		}
	}
	// Bitbucket is recognised by a header that proves nothing: its signature is another.
	if d == dialectBitbucket && !strings.HasPrefix(h.Get("X-Hub-Signature"), "sha256=") {
		return say(http.StatusUnauthorized, "X-Hub-Signature: sha256=<hex> is required beside X-Event-Key")
	}
	return nil
}

// signedPart is what a delivery's signatures cover, and the JSON in it. A form
// holds the JSON in its field payload; Gitea signs the decoded field, GitHub the body.
func signedPart(h http.Header, raw []byte) (signed, payload []byte, err error) {
	mediaType, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(mediaType), "application/x-www-form-urlencoded") {
		return raw, raw, nil
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil || !form.Has("payload") {
		return nil, nil, bad(http.StatusBadRequest, "payload", "", "is missing from the form")
	}
	payload = []byte(form.Get("payload"))
	if len(h.Values("X-Gitea-Signature")) > 0 || len(h.Values("X-Gogs-Signature")) > 0 {
		return payload, payload, nil
	}
	return raw, payload, nil
}

func bareSHA256(value string, signed []byte, secret string) bool {
	return sameMAC(sha256.New, value, signed, secret)
}

func prefixedSHA256(value string, signed []byte, secret string) bool {
	digest, ok := strings.CutPrefix(value, "sha256=")
	return ok && sameMAC(sha256.New, digest, signed, secret)
}

// hubSignature is SHA-1 from GitHub and Gitea, SHA-256 from Bitbucket.
func hubSignature(value string, signed []byte, secret string) bool {
	if digest, ok := strings.CutPrefix(value, "sha1="); ok {
		return sameMAC(sha1.New, digest, signed, secret)
	}
	return prefixedSHA256(value, signed, secret)
}

// sameMAC compares in constant time; an empty digest, which Gitea sends when it has no secret, never matches.
func sameMAC(hash func() hash.Hash, digest string, signed []byte, secret string) bool {
	got, err := hex.DecodeString(digest)
	if err != nil || len(got) == 0 || secret == "" {
		return false
	}
	mac := hmac.New(hash, []byte(secret))
	mac.Write(signed)
	return hmac.Equal(got, mac.Sum(nil))
}
