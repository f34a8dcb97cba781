package flowclient

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Limits of what a request may hold.
const (
	maxProject = 40      // characters of a project's name: hostnames and binding names are made of it
	maxLabel   = 63      // characters of a DNS label
	maxKey     = 300     // bytes of an origin key
	maxWho     = 200     // bytes of a name
	maxLink    = 2000    // bytes of a link
	maxText    = 1000    // bytes of a reason
	maxMessage = 10_000  // bytes of a commit's message
	maxFiles   = 1000    // files of a commit
	maxContent = 5 << 20 // bytes of all files of a commit
	maxPath    = 500     // bytes of a path
	maxLines   = 10_000  // lines of a log
	maxRuns    = 50      // walkthroughs listed
)

var (
	labelForm  = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
	commitForm = regexp.MustCompile(`^[0-9a-fA-F]{4,40}$`)
	refForm    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$`)
)

// check is the first error of several checks.
func check(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkLabel checks a name of at most limit characters; its parts become hostnames.
func checkLabel(field, value string, limit int) error {
	switch {
	case value == "":
		return &Invalid{Field: field, Value: value, Why: "is missing"}
	case len(value) > limit:
		return &Invalid{Field: field, Value: clip(value), Why: fmt.Sprintf("is longer than %d characters", limit)}
	case !labelForm.MatchString(value):
		return &Invalid{Field: field, Value: value, Why: "must be lower-case letters, digits and dashes, begin with a letter and not end with a dash"}
	}
	return nil
}

// checkOptional checks a name that may be empty.
func checkOptional(field, value string) error {
	if value == "" {
		return nil
	}
	return checkLabel(field, value, maxLabel)
}

// checkText checks foreign text: its length in bytes and that it is text.
func checkText(field, value string, limit int) error {
	switch {
	case len(value) > limit:
		return &Invalid{Field: field, Value: clip(value), Why: fmt.Sprintf("is longer than %d bytes", limit)}
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return &Invalid{Field: field, Value: clip(strings.ToValidUTF8(value, "?")), Why: "is no text"}
	}
	return nil
}

// required checks text that must not be blank.
func required(field, value string, limit int) error {
	if strings.TrimSpace(value) == "" {
		return &Invalid{Field: field, Value: value, Why: "is missing"}
	}
	return checkText(field, value, limit)
}

// check checks that an effect has an origin: without one it could not be deduplicated.
func (o Origin) check() error {
	return check(required("origin.key", o.Key, maxKey), required("origin.who", o.Who, maxWho), checkText("origin.link", o.Link, maxLink), checkText("origin.trace", o.Trace, maxWho))
}

// checkCommit checks the form of a commit, abbreviated or whole.
func checkCommit(field, value string) error {
	if !commitForm.MatchString(value) {
		return &Invalid{Field: field, Value: clip(value), Why: "must be 4 to 40 hexadecimal digits of a commit"}
	}
	return nil
}

// checkPath checks the path of a file in a repository.
func checkPath(field, value string) error {
	if err := required(field, value, maxPath); err != nil {
		return err
	}
	outside := path.IsAbs(value) || value != path.Clean(value) || value == "." || value == ".." || strings.HasPrefix(value, "../")
	first, _, _ := strings.Cut(value, "/")
	if outside || strings.EqualFold(first, ".git") || strings.ContainsAny(value, "\\\n\r") {
		return &Invalid{Field: field, Value: value, Why: "must be a clean path inside the repository"}
	}
	return nil
}

// clip keeps an error readable when the value is not.
func clip(value string) string { return clipTo(value, 80) }

// clipTo keeps so many bytes of a text.
func clipTo(value string, limit int) string {
	if len(value) <= limit {
		return value
	}
	return strings.ToValidUTF8(value[:limit], "") + "…"
}

// ShortSHA is a commit as people read it: its first seven digits.
func ShortSHA(sha string) string { return sha[:min(len(sha), 7)] }
