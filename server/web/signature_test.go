package web_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/web"
)

func TestEverySignatureOfADeliveryMustHold(t *testing.T) {
	const body, secret = `{"ref":"refs/heads/main"}`, "the shared secret"
	digest := func(sum func() hash.Hash, key string) string {
		m := hmac.New(sum, []byte(key))
		m.Write([]byte(body))
		return hex.EncodeToString(m.Sum(nil))
	}
	good, forged := digest(sha256.New, secret), digest(sha256.New, "another")
	weak := "sha1=" + digest(sha1.New, secret)
	for _, c := range []struct {
		name   string
		header http.Header
		secret string
		signed bool
		proved bool
		wrong  string
	}{
		{"none", http.Header{"X-Gitea-Event": {"push"}}, secret, false, false, ""},
		{"the document's", http.Header{"X-Signature-256": {"sha256=" + good}}, secret, true, true, ""},
		{"the document's without its prefix", http.Header{"X-Signature-256": {good}}, secret, true, false, "X-Signature-256"},
		{"Gitea's", http.Header{"X-Gitea-Signature": {good}}, secret, true, true, ""},
		{"Gitea's without a secret", http.Header{"X-Gitea-Signature": {""}}, secret, true, false, "X-Gitea-Signature"},
		{"GitHub's", http.Header{"X-Hub-Signature-256": {"sha256=" + good}}, secret, true, true, ""},
		{"Gogs's", http.Header{"X-Gogs-Signature": {good}}, secret, true, true, ""},
		{"GitLab's", http.Header{"X-Gitlab-Token": {secret}}, secret, true, true, ""},
		{"GitLab's with another secret", http.Header{"X-Gitlab-Token": {"another"}}, secret, true, false, "X-Gitlab-Token"},
		{"Bitbucket's", http.Header{"X-Hub-Signature": {"sha256=" + good}}, secret, true, true, ""},
		{"SHA-1 alone proves nothing", http.Header{"X-Hub-Signature": {weak}}, secret, true, false, ""},
		{"SHA-1 beside SHA-256", http.Header{"X-Hub-Signature": {weak}, "X-Hub-Signature-256": {"sha256=" + good}}, secret, true, true, ""},
		{"a forged one beside a good one", http.Header{"X-Gitea-Signature": {good}, "X-Gogs-Signature": {forged}}, secret, true, false, "X-Gogs-Signature"},
		{"a good one and a forged one in one header", http.Header{"X-Gitea-Signature": {good, forged}}, secret, true, false, "X-Gitea-Signature"},
		{"no hexadecimal", http.Header{"X-Gitea-Signature": {"zz"}}, secret, true, false, "X-Gitea-Signature"},
		{"no secret to compare with", http.Header{"X-Gitea-Signature": {digest(sha256.New, "")}}, "", true, false, "X-Gitea-Signature"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.signed, web.Signed(c.header))
			proved, wrong := web.VerifySignatures(c.header, []byte(body), c.secret)
			assert.Equal(t, c.wrong, wrong)
			assert.Equal(t, c.proved, proved)
		})
	}
}

func TestTheSignedPartOfAFormDependsOnWhoSignedIt(t *testing.T) {
	const form, decoded = "payload=%7B%22ref%22%3A1%7D", `{"ref":1}`
	urlencoded := []string{"application/x-www-form-urlencoded; charset=utf-8"}
	for _, c := range []struct {
		name, body      string
		header          http.Header
		signed, payload string
		err             string
	}{
		{"JSON", decoded, http.Header{"Content-Type": {"application/json"}}, decoded, decoded, ""},
		{"JSON that is called nothing", decoded, http.Header{}, decoded, decoded, ""},
		{"JSON that curl calls a form", "\n" + decoded, http.Header{"Content-Type": urlencoded}, "\n" + decoded, "\n" + decoded, ""},
		{"JSON that is called a form, signed as Gitea does", decoded, http.Header{"Content-Type": urlencoded, "X-Gitea-Signature": {"00"}}, decoded, decoded, ""},
		{"Gitea's form", form, http.Header{"Content-Type": urlencoded, "X-Gitea-Signature": {"00"}}, decoded, decoded, ""},
		{"Gogs's form", form, http.Header{"Content-Type": urlencoded, "X-Gogs-Signature": {"00"}}, decoded, decoded, ""},
		{"GitHub's form", form, http.Header{"Content-Type": urlencoded, "X-Hub-Signature-256": {"sha256=00"}}, form, decoded, ""},
		{"a form without payload", "a=b", http.Header{"Content-Type": urlencoded}, "", "", "the form has no field payload"},
		{"no form", "%zz", http.Header{"Content-Type": urlencoded}, "", "", `read form: invalid URL escape "%zz"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			signed, payload, err := web.SignedPart(c.header, []byte(c.body))
			if c.err != "" {
				assert.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.signed, string(signed))
			assert.Equal(t, c.payload, string(payload))
		})
	}
}
