package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"platform.dev/platform/bots/zulip"
)

// codePatience is how long the chat may take to give a one-time code.
const codePatience = 10 * time.Second

// openBrowser prints the address that signs a browser in as an account, once. It
// carries a code behind its "#"; the account's key stays in its file.
func openBrowser(ctx context.Context, path string, t terminal) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	rc, err := zulip.ParseRC(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	address, err := signInAddress(ctx, rc)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.Out, "Open this in a browser within five minutes; it signs in once, as %s:\n  %s\n", rc.Email, address)
	return nil
}

// signInAddress asks the chat for a one-time code.
func signInAddress(ctx context.Context, rc zulip.RC) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(rc.Site, "/")+"/api/v1/users/me/sign_in_code", http.NoBody)
	if err != nil {
		return "", fmt.Errorf("chat: %w", err)
	}
	r.SetBasicAuth(rc.Email, rc.Key)
	resp, err := (&http.Client{Timeout: codePatience}).Do(r)
	if err != nil {
		return "", fmt.Errorf("chat: %w", err)
	}
	defer resp.Body.Close()
	var answer struct{ URL, Msg string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&answer); err != nil {
		return "", fmt.Errorf("chat at %s: status %d: %w", rc.Site, resp.StatusCode, err)
	}
	if resp.StatusCode != http.StatusOK || answer.URL == "" {
		return "", fmt.Errorf("the chat at %s gives no one-time code: %s; only the platform's own chat does", rc.Site, oneLine(answer.Msg))
	}
	return answer.URL, nil
}
