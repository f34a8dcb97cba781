package gitea

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"platform.dev/platform/flowclient"
)

const (
	maxFiles   = 2000     // of one push
	maxContent = 32 << 20 // bytes of all files of one push
)

// address is a made-up address for a display name.
func address(name string) string {
	local := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + ('a' - 'A')
		}
		return '-'
	}, strings.TrimSpace(name))
	if local = strings.Trim(local, "-"); local == "" {
		local = "somebody"
	}
	return local + "@noreply.localhost"
}

// paths lists what a push names, sorted.
func paths(p flowclient.Push) []string {
	var all []string
	for name := range p.Files {
		all = append(all, name)
	}
	all = append(all, p.Delete...)
	slices.Sort(all)
	return all
}

// checkPush tells what is wrong with a push whatever the branch holds.
func checkPush(p flowclient.Push) error {
	if _, _, err := split(p.Repo); err != nil {
		return err
	}
	size := 0
	for _, content := range p.Files {
		size += len(content)
	}
	all := paths(p)
	switch {
	case p.Key == "" || len(p.Key) > 200 || strings.ContainsFunc(p.Key, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.TrimSpace(p.Key) != p.Key:
		return &flowclient.Invalid{Field: "key", Value: p.Key, Why: "want 1 to 200 printable characters"}
	case strings.TrimSpace(p.Message) == "" || len(p.Message) > 16<<10 || strings.ContainsRune(p.Message, 0):
		return &flowclient.Invalid{Field: "message", Value: "", Why: "want 1 to 16384 bytes of text"}
	case !branchOK(p.Branch):
		return &flowclient.Invalid{Field: "branch", Value: p.Branch, Why: "not a branch name"}
	case p.Base != "" && !branchOK(p.Base):
		return &flowclient.Invalid{Field: "base", Value: p.Base, Why: "not a branch name"}
	case len(all) == 0:
		return &flowclient.Invalid{Field: "files", Value: "", Why: "want at least one file to write or delete"}
	case len(all) > maxFiles || size > maxContent:
		return &flowclient.Invalid{Field: "files", Value: strconv.Itoa(len(all)), Why: fmt.Sprintf("want at most %d files of %d bytes in all", maxFiles, maxContent)}
	}
	for _, name := range all {
		if why := pathFault(name); why != "" {
			return &flowclient.Invalid{Field: "path", Value: name, Why: why}
		}
	}
	return checkTogether(p)
}

// checkTogether tells of paths of one push that contradict each other.
func checkTogether(p flowclient.Push) error {
	for i, name := range p.Delete {
		if _, ok := p.Files[name]; ok || slices.Contains(p.Delete[:i], name) {
			return &flowclient.Invalid{Field: "delete", Value: name, Why: "named twice"}
		}
	}
	for name := range p.Files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := p.Files[dir]; ok {
				return &flowclient.Invalid{Field: "path", Value: name, Why: fmt.Sprintf("%s is to be a file", dir)}
			}
		}
	}
	return nil
}

// branchOK applies git's rules for names of branches.
func branchOK(name string) bool {
	if name == "" || len(name) > 200 || strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "..") ||
		strings.Contains(name, "@{") || strings.HasPrefix(name, "-") || strings.HasSuffix(name, ".") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' })
}

// pathFault tells why a path may not be written; "" when it may.
func pathFault(name string) string {
	switch {
	case name == "" || len(name) > 1024:
		return "want 1 to 1024 bytes"
	case strings.HasPrefix(name, "/") || strings.Contains(name, "\\"):
		return "want a relative path with slashes"
	case path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../"):
		return "want a path inside the repository, without . and .."
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "want no control characters"
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return "git keeps its own files under .git"
		}
	}
	return ""
}

// checkAgainst tells what is wrong with a push on top of a tree: a deletion of
// what is not there, a file where a directory is, or below a file.
func checkAgainst(p flowclient.Push, there map[string]string) error {
	for _, name := range p.Delete {
		if _, ok := there[name]; !ok {
			return &flowclient.Invalid{Field: "delete", Value: name, Why: "the branch holds no such file"}
		}
	}
	dirs := map[string]bool{}
	for name := range there {
		if slices.Contains(p.Delete, name) {
			continue
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for name := range p.Files {
		if dirs[name] {
			return &flowclient.Invalid{Field: "path", Value: name, Why: "the branch holds a directory of that name"}
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := there[dir]; ok && !slices.Contains(p.Delete, dir) {
				return &flowclient.Invalid{Field: "path", Value: name, Why: fmt.Sprintf("%s is a file on the branch", dir)}
			}
		}
	}
	return nil
}
