package flow

import (
	"fmt"
	"net/http"

	"platform.dev/platform/flowclient/wire"
	"platform.dev/platform/server/web"
)

// verify checks every signature of a delivery over what was signed. At least
// one must prove it.
func verify(h http.Header, secret string, signed []byte) error {
	proved, wrong := web.VerifySignatures(h, signed, secret)
	switch {
	case wrong != "":
		return fmt.Errorf("%w: %s does not match the body under the shared secret", wire.ErrSignature, wrong)
	case !proved:
		return fmt.Errorf("%w: send X-Signature-256: sha256=<hex of the body's HMAC-SHA256 under the shared secret>; a request that is no delivery may bring Authorization: Bearer <token> instead", wire.ErrSignature)
	}
	return nil
}
