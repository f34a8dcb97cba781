package git

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // X-Hub-Signature is defined so; the others are SHA-256
	"crypto/sha256"
	"encoding/hex"
	"net/http"
)

// sign sets a delivery's headers: Gitea's with the Gogs and GitHub ones beside
// them, and the interface document's X-Signature-256. The HMAC is over the
// body's exact bytes.
func sign(header http.Header, d delivery) {
	strong := hmac.New(sha256.New, []byte(d.Secret))
	strong.Write(d.Body)
	weak := hmac.New(sha1.New, []byte(d.Secret))
	weak.Write(d.Body)
	sum := hex.EncodeToString(strong.Sum(nil))

	name := d.Event
	if other, ok := eventNames[name]; ok {
		name = other
	}
	set := func(name, value string) { header[name] = []string{value} } // X-GitHub-Event keeps its spelling
	set("Content-Type", "application/json")
	for _, vendor := range []string{"X-Gitea-", "X-Gogs-", "X-GitHub-"} {
		set(vendor+"Delivery", d.UUID)
		set(vendor+"Event", name)
		set(vendor+"Event-Type", d.Event)
	}
	for _, vendor := range []string{"X-Gitea-", "X-GitHub-"} {
		set(vendor+"Hook-Installation-Target-Type", "repository")
	}
	set("X-Gitea-Signature", sum)
	set("X-Gogs-Signature", sum)
	set("X-Hub-Signature", "sha1="+hex.EncodeToString(weak.Sum(nil)))
	set("X-Hub-Signature-256", "sha256="+sum)
	set("X-Signature-256", "sha256="+sum)
}
