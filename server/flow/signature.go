package flow

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"strings"

	"platform.dev/platform/flowclient/wire"
	"platform.dev/platform/server/web"
)

// signature is a header in which a git server proves that it knows the secret.
type signature struct {
	header string
	verify func(value, secret string, body []byte) bool
}

// signatures are the headers that are known. Every one that is present must
// verify: a delivery may carry several, and one that fails is a forgery,
// whatever the others say.
var signatures = []signature{
	{"X-Signature-256", mac("sha256=", sha256.New)},
	{"X-Gitea-Signature", mac("", sha256.New)},
	{"X-Hub-Signature-256", mac("sha256=", sha256.New)},
	{"X-Gogs-Signature", mac("", sha256.New)},
	{"X-Hub-Signature", hub},
	{"X-Gitlab-Token", func(value, secret string, _ []byte) bool { return web.SameSecret(value, secret) }},
}

// strong are the headers of which at least one must be there: SHA-1 alone proves nothing any more.
var strong = map[string]bool{
	"X-Signature-256": true, "X-Gitea-Signature": true, "X-Hub-Signature-256": true, "X-Gogs-Signature": true, "X-Gitlab-Token": true,
}

// signs tells whether a request has any signature, right or wrong.
func signs(h http.Header) bool {
	for _, s := range signatures {
		if len(h.Values(s.header)) > 0 {
			return true
		}
	}
	return false
}

// verify checks every signature of a delivery whose signed bytes are body.
func verify(h http.Header, secret string, body []byte) error {
	proved := false
	for _, s := range signatures {
		for _, value := range h.Values(s.header) {
			if !s.verify(value, secret, body) {
				return fmt.Errorf("%w: %s does not match the body under the shared secret", wire.ErrSignature, s.header)
			}
			proved = proved || strong[s.header] || strings.HasPrefix(value, "sha256=")
		}
	}
	if !proved {
		return fmt.Errorf("%w: send X-Signature-256: sha256=<hex of the body's HMAC-SHA256 under the shared secret>; a request that is no delivery may bring Authorization: Bearer <token> instead", wire.ErrSignature)
	}
	return nil
}

// hub verifies the header that GitHub fills with SHA-1 and Bitbucket with SHA-256.
func hub(value, secret string, body []byte) bool {
	if strings.HasPrefix(value, "sha256=") {
		return mac("sha256=", sha256.New)(value, secret, body)
	}
	return mac("sha1=", sha1.New)(value, secret, body)
}

// mac verifies prefix + hex of the body's HMAC.
func mac(prefix string, sum func() hash.Hash) func(value, secret string, body []byte) bool {
	return func(value, secret string, body []byte) bool {
		digits, ok := strings.CutPrefix(value, prefix)
		if !ok {
			return false
		}
		got, err := hex.DecodeString(digits)
		if err != nil || len(got) == 0 {
			return false
		}
		m := hmac.New(sum, []byte(secret))
		m.Write(body)
		return hmac.Equal(got, m.Sum(nil))
	}
}
