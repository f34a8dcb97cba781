package zulip

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
)

// Network is a transport that trusts and signs in as the file says: it accepts
// any certificate (insecure), those of a bundle, and shows a client certificate.
func (rc RC) Network() (*http.Transport, error) {
	t := network()
	t.TLSClientConfig = &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: rc.Insecure, //nolint:gosec // the bot's owner asked for it, by Zulip's own setting
	}
	if rc.CertBundle != "" {
		pem, err := os.ReadFile(rc.CertBundle)
		if err != nil {
			return nil, fmt.Errorf("zuliprc: cert_bundle: %w", err)
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("zuliprc: cert_bundle %s: no certificate in it", rc.CertBundle)
		}
	}
	if rc.ClientCert != "" {
		key := rc.ClientCertKey
		if key == "" {
			key = rc.ClientCert // one file may hold both
		}
		cert, err := tls.LoadX509KeyPair(rc.ClientCert, key)
		if err != nil {
			return nil, fmt.Errorf("zuliprc: client_cert: %w", err)
		}
		t.TLSClientConfig.Certificates = []tls.Certificate{cert}
	}
	return t, nil
}
