package git

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"strings"

	"platform.dev/platform/flowclient/gitea/gitcmd"
)

const (
	maxHeader = 16 << 10 // bytes of a CGI header
	maxAnswer = 8 << 20  // bytes of what receive-pack reports
)

// backend is one run of git http-backend.
type backend struct {
	repo    repository
	service string
	path    string   // after the repository: /info/refs
	body    *os.File // nil for GET
}

// backend runs git http-backend as CGI (RFC 3875) with its answer going to out.
func (s *Server) backend(r *http.Request, b backend, out *answer) error {
	env := []string{
		"GATEWAY_INTERFACE=CGI/1.1", "SERVER_PROTOCOL=HTTP/1.1",
		"GIT_PROJECT_ROOT=" + s.cfg.Dir, "GIT_HTTP_EXPORT_ALL=1",
		"PATH_INFO=/" + b.repo.full() + ".git" + b.path,
		"REQUEST_METHOD=" + r.Method, "QUERY_STRING=service=" + b.service,
		"CONTENT_TYPE=" + r.Header.Get("Content-Type"), "REMOTE_USER=" + s.cfg.AdminUser,
		"HTTP_CONTENT_ENCODING=" + r.Header.Get("Content-Encoding"), "GIT_PROTOCOL=" + r.Header.Get("Git-Protocol"),
	}
	call := gitcmd.Call{
		Args: []string{"http-backend"}, Env: env, Stdout: out, Timeout: transferTimeout,
		Settings: append([]gitcmd.Setting{
			{Key: "http.receivepack", Value: "true"},
			{Key: "receive.maxInputSize", Value: strconv.FormatInt(s.cfg.MaxPush, 10)}, // of what a compressed body holds
		}, settings...),
	}
	if b.body != nil {
		info, err := b.body.Stat()
		if err != nil {
			return err
		}
		call.Env = append(call.Env, "CONTENT_LENGTH="+strconv.FormatInt(info.Size(), 10))
		call.Stdin = b.body
	}
	_, err := s.transfer.Run(r.Context(), call)
	if err != nil && out.begun() {
		s.cfg.Log.WarnContext(r.Context(), "transfer ended early", "repository", b.repo.full(), "service", b.service, "error", err)
		return nil // git has told the client in its own protocol
	}
	if err == nil && !out.begun() {
		return errors.New("git http-backend gave no answer")
	}
	return err
}

// answer takes what a CGI program writes: header lines, an empty line, the
// body. Held, it keeps the body until released.
type answer struct {
	w      http.ResponseWriter
	hold   bool
	header []byte // what has come of it; nil when done
	done   bool
	status int
	held   []byte
}

func (a *answer) begun() bool { return a.done }

// Write takes the next part.
func (a *answer) Write(p []byte) (int, error) {
	if a.done {
		return len(p), a.body(p)
	}
	a.header = append(a.header, p...)
	head, body, ok := strings.Cut(string(a.header), "\r\n\r\n")
	if !ok {
		if len(a.header) > maxHeader {
			return 0, errors.New("the CGI header does not end")
		}
		return len(p), nil
	}
	if err := a.begin(head); err != nil {
		return 0, err
	}
	return len(p), a.body([]byte(body))
}

// begin reads the header.
func (a *answer) begin(head string) error {
	fields, err := textproto.NewReader(bufio.NewReader(strings.NewReader(head + "\r\n\r\n"))).ReadMIMEHeader()
	if err != nil {
		return fmt.Errorf("CGI header: %w", err)
	}
	a.status = http.StatusOK
	if line := fields.Get("Status"); line != "" {
		code, _, _ := strings.Cut(line, " ")
		if a.status, err = strconv.Atoi(code); err != nil {
			return fmt.Errorf("CGI status %q: %w", line, err)
		}
	}
	fields.Del("Status")
	for name, values := range fields {
		a.w.Header()[name] = values
	}
	a.done, a.header = true, nil
	if !a.hold {
		a.w.WriteHeader(a.status)
	}
	return nil
}

// body passes a part on, at once so that progress is seen, or keeps it.
func (a *answer) body(p []byte) error {
	if a.hold {
		if len(a.held)+len(p) > maxAnswer {
			return fmt.Errorf("receive-pack reported more than %d bytes", maxAnswer)
		}
		a.held = append(a.held, p...)
		return nil
	}
	if _, err := a.w.Write(p); err != nil {
		return err
	}
	if err := http.NewResponseController(a.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// release sends what was held.
func (a *answer) release() {
	a.w.WriteHeader(a.status)
	_, _ = a.w.Write(a.held) // the client went away: its push is done all the same
}
