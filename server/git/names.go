package git

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Names as Gitea takes them, and short enough for a directory.
var (
	ownerName      = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,38}[A-Za-z0-9])?$`)
	repositoryName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?$`)
	fullSHA        = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// zeroSHA stands for a ref that does not exist.
const zeroSHA = "0000000000000000000000000000000000000000"

// Words that a path of the server begins with, and endings that git and Gitea give a meaning.
var (
	reservedOwners  = []string{"api", "assets", "healthz", "user", "users", "org", "orgs", "repo", "admin", "explore"}
	reservedEndings = []string{".git", ".wiki", ".rss", ".atom", ".lock"}
)

// checkOwner tells what is wrong with a new owner's name.
func checkOwner(name string) error {
	switch {
	case !ownerName.MatchString(name):
		return unprocessable("username", name, "want at most 40 letters, digits, '-', '_' and '.', a letter or digit at both ends")
	case slices.Contains(reservedOwners, strings.ToLower(name)):
		return unprocessable("username", name, "the name is reserved")
	}
	return checkEnding("username", name)
}

// checkRepositoryName tells what is wrong with a new repository's name.
func checkRepositoryName(name string) error {
	if !repositoryName.MatchString(name) {
		return unprocessable("name", name, "want at most 100 letters, digits, '-', '_' and '.'")
	}
	return checkEnding("name", name)
}

func checkEnding(field, name string) error {
	for _, end := range reservedEndings {
		if strings.HasSuffix(strings.ToLower(name), end) {
			return unprocessable(field, name, fmt.Sprintf("a name does not end with %s", end))
		}
	}
	return nil
}

// checkRef applies the rules of git check-ref-format to a branch, tag or
// abbreviated commit that came from outside. What passes cannot be read as an
// option or as an expression over revisions.
func checkRef(field, ref string) error {
	bad := ref == "" || len(ref) > 250 ||
		strings.ContainsAny(ref, " ~^:?*[\\\x7f") || strings.Contains(ref, "..") || strings.Contains(ref, "@{") || ref == "@" ||
		strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "/") || strings.HasSuffix(ref, "/") || strings.HasSuffix(ref, ".")
	for _, part := range strings.Split(ref, "/") {
		bad = bad || part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	for _, r := range ref {
		bad = bad || r < ' '
	}
	if bad {
		return unprocessable(field, ref, "not a valid name of a branch, a tag or a commit")
	}
	return nil
}
