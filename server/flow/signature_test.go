package flow

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // GitHub's and Gitea's second header
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
)

// FuzzSignatures sends a body with two signatures of whatever kind and value:
// it is believed only when each is right and one of them proves it.
func FuzzSignatures(f *testing.F) {
	headers := []string{"X-Signature-256", "X-Gitea-Signature", "X-Hub-Signature-256", "X-Gogs-Signature", "X-Gitlab-Token", "X-Hub-Signature"}
	for _, name := range []string{"push", "push_form_encoded", "push_no_secret", "pull_request_opened"} {
		sent := recorded(f, name, "/hooks/git")
		for i, first := range headers {
			for j, second := range headers {
				f.Add(sent.body, i, sent.header.Get(first), j, sent.header.Get(second))
			}
		}
	}
	digits := sign(opened, testSecret)
	for i, right := range []string{"sha256=" + digits, digits, "sha256=" + digits, strings.ToUpper(digits), testSecret, "sha1=" + weakly(opened)} {
		f.Add(opened, i, right, 1, digits)
		f.Add(opened, i, right, 5, "sha1="+weakly(opened))
		f.Add(opened, i, right, 3, digits[:len(digits)-1])
		f.Add(opened, 1, digits, i, "sha256="+right)
	}
	f.Fuzz(func(t *testing.T, body string, i int, first string, j int, second string) {
		h := http.Header{}
		all, proved := true, false
		for _, s := range []struct {
			kind  int
			value string
		}{{i, first}, {j, second}} {
			header := headers[uint(s.kind)%uint(len(headers))]
			h.Add(header, s.value)
			right, proves := held(header, s.value, body)
			all, proved = all && right, proved || right && proves
		}
		if err := verify(h, testSecret, []byte(body)); (err == nil) != (all && proved) {
			t.Fatalf("%v over %q: %v", h, body, err)
		}
	})
}

// held tells, by its own reckoning, whether a signature is right, and whether one like it proves a delivery.
func held(header, value, body string) (right, proves bool) {
	is := func(prefix, digits string) bool {
		rest, ok := strings.CutPrefix(value, prefix)
		return ok && strings.EqualFold(rest, digits) && len(rest) == len(digits)
	}
	strong := sign(body, testSecret)
	switch header {
	case "X-Gitlab-Token":
		return value == testSecret, true
	case "X-Gitea-Signature", "X-Gogs-Signature":
		return is("", strong), true
	case "X-Hub-Signature":
		return is("sha256=", strong) || is("sha1=", weakly(body)), strings.HasPrefix(value, "sha256=")
	default:
		return is("sha256=", strong), true
	}
}

// weakly is the hex of a body's HMAC-SHA1 under the secret.
func weakly(body string) string {
	m := hmac.New(sha1.New, []byte(testSecret))
	m.Write([]byte(body))
	return hex.EncodeToString(m.Sum(nil))
}
