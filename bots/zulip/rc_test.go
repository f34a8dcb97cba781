package zulip

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAZuliprcAsZulipGivesIt(t *testing.T) {
	rc, err := ParseRC(strings.NewReader("[api]\nemail=platform-bot@chat.example.org\nkey=abc#def;ghi%(x)s\nsite=https://chat.example.org\ninsecure=true\n"))
	require.NoError(t, err)
	assert.Equal(t, RC{Site: "https://chat.example.org", Email: "platform-bot@chat.example.org", Key: "abc#def;ghi%(x)s", Insecure: true}, rc)
}

func TestAZuliprcThatLacksSomething(t *testing.T) {
	for _, c := range []struct{ name, file, says string }{
		{"empty", "", "no section [api]"},
		{"another section", "[bot]\nemail=x\n", "no section [api]"},
		{"no key", "[api]\nemail=e\nsite=s\n", "[api] has no key"},
		{"no site", "[api]\nemail=e\nkey=hidden\n", "[api] has no site"},
		{"no INI", "[api]\nhidden hidden\n", "no INI file"},
		{"a flag that is none", "[api]\nemail=e\nkey=hidden\nsite=s\ninsecure=maybe\n", `insecure "maybe": say true or false`},
		{"too long", strings.Repeat("#", rcLimit+1), "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseRC(strings.NewReader(c.file))
			require.ErrorContains(t, err, c.says)
			assert.NotContains(t, err.Error(), "hidden", "a key is never shown")
		})
	}
}

func TestTheEnvironmentOverridesAZuliprc(t *testing.T) {
	env := map[string]string{"ZULIP_SITE": "http://127.0.0.1:9991", "ZULIP_ALLOW_INSECURE": "1", "ZULIP_EMAIL": ""}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	rc, err := RC{Site: "https://x", Email: "e", Key: "k"}.Override(lookup)
	require.NoError(t, err)
	assert.Equal(t, RC{Site: "http://127.0.0.1:9991", Email: "e", Key: "k", Insecure: true}, rc)
	_, err = RC{}.Override(func(string) (string, bool) { return "", false })
	require.ErrorContains(t, err, "[api] has no site")
}

func TestAZuliprcSaysWhomToTrust(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(me)) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about those who do not trust it
	server.StartTLS()
	defer server.Close()
	bundle := filepath.Join(t.TempDir(), "bundle.pem")
	require.NoError(t, os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	for _, c := range []struct {
		name string
		rc   RC
		says string
	}{
		{"the system's certificates alone", RC{}, "certificate"},
		{"a bundle", RC{CertBundle: bundle}, ""},
		{"anybody", RC{Insecure: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			network, err := c.rc.Network()
			require.NoError(t, err)
			client, err := NewClient(ClientConfig{Site: server.URL, Email: "e", Key: "k", Transport: network})
			require.NoError(t, err)
			defer client.Close()
			_, err = client.Me(t.Context())
			if c.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.says)
			}
		})
	}
	_, err := RC{CertBundle: "/nowhere"}.Network()
	require.ErrorContains(t, err, "cert_bundle")
	_, err = RC{ClientCert: bundle}.Network()
	require.ErrorContains(t, err, "client_cert")
}
