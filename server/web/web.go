// Package web is what every surface shares: listeners (TCP and in memory),
// serving until the context ends, the checks at the door (Host, cross-origin,
// token, body size, signatures of hooks), health, error answers, and what pages
// have in common.
//
// It knows nothing of what a surface serves.
package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// ShutdownGrace is how long a surface finishes what it has begun before it is cut off.
const ShutdownGrace = 5 * time.Second

// Serve answers requests on l until ctx ends, then finishes those under way.
// Request contexts end with ctx, so that long polls do not delay the end.
func Serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	unused := silent{conns: map[net.Conn]bool{}}
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         unused.watch,
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	unused.end()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownGrace)
	defer cancel()
	err := srv.Shutdown(grace)
	if err != nil {
		err = errors.Join(err, srv.Close())
	}
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Health answers GET /healthz with 200 and "ok", or 503 and the error of check (nil means always healthy),
// and hands everything else to next.
func Health(check func(context.Context) error, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if check != nil {
			if err := check(r.Context()); err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprintln(w, err)
				return
			}
		}
		fmt.Fprintln(w, "ok")
	})
}

// Hosts refuses a request whose Host is none of names (compared without port;
// loopback names are always among them): a page elsewhere must not reach a
// loopback surface by rebinding a name. It answers 421 and names the Host.
func Hosts(names []string, next http.Handler) http.Handler {
	known := map[string]bool{"127.0.0.1": true, "::1": true, "localhost": true}
	for _, n := range names {
		known[strings.ToLower(n)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := Hostname(r.Host); !known[host] {
			Error(w, http.StatusMisdirectedRequest, fmt.Sprintf("host %q is not served here; use 127.0.0.1 or one of this surface's own names", host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Hostname is a Host header without its port, in lower case.
func Hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// SameOrigin refuses writes that a browser sends from another origin.
func SameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Error(w, http.StatusForbidden, r.Method+" is not taken from a page of another origin; send it from a program, or from a page of this surface")
	}))
	return protection.Handler(next)
}

// SameSecret compares two secrets in constant time; an empty one never matches.
func SameSecret(got, want string) bool {
	if got == "" || want == "" {
		return false
	}
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(g[:], w[:]) == 1
}

// Bearer is the token of an Authorization header, "Bearer x" or "token x"; empty when there is none.
func Bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token") {
		return ""
	}
	return strings.TrimSpace(token)
}

// Error answers status with {"error": sentence}.
func Error(w http.ResponseWriter, status int, sentence string) {
	JSON(w, status, map[string]string{"error": sentence})
}

// JSON answers status with v as JSON.
func JSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client went away: there is nobody to tell
}

// ErrTooLarge is the error of Body when the body exceeds its limit.
var ErrTooLarge = errors.New("body too large")

// Body reads a whole request body of at most limit bytes.
func Body(r *http.Request, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	return b, nil
}
