package controlplane

import (
	"net/http"
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

// verify checks every signature header over what was signed. Bitbucket alone is
// recognised by a header that proves nothing: its signature is another.
func verify(h http.Header, signed []byte, secret string) error {
	proved, wrong := web.VerifySignatures(h, signed, secret)
	switch {
	case wrong != "":
		return say(http.StatusUnauthorized, "%s does not verify: the delivery was not signed with the shared secret", wrong)
	case !proved:
		return say(http.StatusUnauthorized, "X-Hub-Signature: sha256=<hex> is required beside X-Event-Key")
	}
	return nil
}
