package git

import (
	"errors"
	"fmt"
	"net/http"

	"platform.dev/platform/server/web"
)

// refusal is an answer other than success: Gitea's status for the case and a
// sentence for people.
type refusal struct {
	status  int
	message string
}

// Error is the sentence.
func (r *refusal) Error() string { return r.message }

// unprocessable is Gitea's answer to a bad field, 422.
func unprocessable(field, value, why string) error {
	return &refusal{http.StatusUnprocessableEntity, fmt.Sprintf("%s %q: %s", field, web.Echo(value), why)}
}

// unknown is Gitea's answer to a name that nothing has, 404.
func unknown(kind, name string) error {
	return &refusal{http.StatusNotFound, fmt.Sprintf("%s %q does not exist", kind, web.Echo(name))}
}

// conflict is Gitea's answer to a name that is taken, 409.
func conflict(format string, args ...any) error {
	return &refusal{http.StatusConflict, fmt.Sprintf(format, args...)}
}

// isUnknown tells whether err is an answer 404.
func isUnknown(err error) bool { return answers(err, http.StatusNotFound) }

// isConflict tells whether err is an answer 409.
func isConflict(err error) bool { return answers(err, http.StatusConflict) }

func answers(err error, status int) bool {
	var r *refusal
	return errors.As(err, &r) && r.status == status
}
