package web

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // GitHub's and Gitea's second header is made with it; alone it proves nothing
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"net/url"
	"strings"
)

// signature is a header in which a git server proves that it knows the secret.
type signature struct {
	header string
	strong bool // proves the delivery by itself; SHA-1 does not any more
	holds  func(value string, over *signed) bool
}

// signed is the bytes that signatures cover, with the secret they are made
// with, and the HMACs of them that were asked for, each taken once.
type signed struct {
	bytes  []byte
	secret string
	sha256 []byte
	sha1   []byte
}

// signatures are the headers that are known: the interface document's, Gitea's,
// GitHub's, Gogs's and GitLab's, and the one that GitHub fills with SHA-1 and
// Bitbucket with SHA-256.
var signatures = []signature{
	{"X-Signature-256", true, prefixed},
	{"X-Gitea-Signature", true, bare},
	{"X-Hub-Signature-256", true, prefixed},
	{"X-Gogs-Signature", true, bare},
	{"X-Gitlab-Token", true, func(value string, over *signed) bool { return SameSecret(value, over.secret) }},
	{"X-Hub-Signature", false, hub},
}

// Signed tells whether a hook delivery has any signature, right or wrong.
func Signed(h http.Header) bool {
	for _, s := range signatures {
		if len(h.Values(s.header)) > 0 {
			return true
		}
	}
	return false
}

// ErrNoPayload is the error of SignedPart for a form without the field payload.
var ErrNoPayload = errors.New("the form has no field payload")

// SignedPart is what a hook delivery's signatures cover, and the JSON in it. A
// form, which a git server may be told to send, has the JSON in its field
// payload; Gitea and Gogs sign the decoded field, GitHub the body. A body that
// is no form is JSON, whatever it is called: so is one that begins as an
// object, which a form cannot, and which curl calls a form unless told otherwise.
func SignedPart(h http.Header, body []byte) (signed, payload []byte, err error) {
	mediaType, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(mediaType), "application/x-www-form-urlencoded") || bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return body, body, nil
	}
	form, err := url.ParseQuery(string(body))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read form: %w", err)
	case !form.Has("payload"):
		return nil, nil, ErrNoPayload
	}
	payload = []byte(form.Get("payload"))
	if len(h.Values("X-Gitea-Signature")) > 0 || len(h.Values("X-Gogs-Signature")) > 0 {
		return payload, payload, nil
	}
	return body, payload, nil
}

// VerifySignatures checks every signature of a hook delivery over the part of
// it that was signed. One that fails makes the delivery a forgery, whatever the
// others say: wrong is its header, "" when all hold. proved tells whether one
// that holds is made with SHA-256 or is the secret itself.
func VerifySignatures(h http.Header, body []byte, secret string) (proved bool, wrong string) {
	over := &signed{bytes: body, secret: secret}
	for _, s := range signatures {
		for _, value := range h.Values(s.header) {
			if !s.holds(value, over) {
				return false, s.header
			}
			proved = proved || s.strong || strings.HasPrefix(value, "sha256=")
		}
	}
	return proved, ""
}

// bare is the hex of the HMAC-SHA256 alone.
func bare(digits string, over *signed) bool {
	return over.proves(digits, &over.sha256, sha256.New)
}

// prefixed is "sha256=" before it.
func prefixed(value string, over *signed) bool {
	digits, ok := strings.CutPrefix(value, "sha256=")
	return ok && bare(digits, over)
}

// hub is the header whose prefix names its hash.
func hub(value string, over *signed) bool {
	if digits, ok := strings.CutPrefix(value, "sha1="); ok {
		return over.proves(digits, &over.sha1, sha1.New)
	}
	return prefixed(value, over)
}

// proves tells whether digits are the hex of the HMAC, compared in constant
// time. An empty digest, which Gitea sends when it has no secret, never holds.
func (s *signed) proves(digits string, taken *[]byte, sum func() hash.Hash) bool {
	if s.secret == "" {
		return false
	}
	got, err := hex.DecodeString(digits)
	if err != nil || len(got) == 0 {
		return false
	}
	if *taken == nil {
		m := hmac.New(sum, []byte(s.secret))
		m.Write(s.bytes)
		*taken = m.Sum(nil)
	}
	return hmac.Equal(got, *taken)
}
