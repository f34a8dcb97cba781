package chat

import (
	"regexp"
	"strings"
)

// atName finds what a person types for a mention: @name, at the start of a word.
var atName = regexp.MustCompile(`(^|[\s(])@([\pL\pN][\pL\pN_.-]*)`)

// mentionNames turns the @name that people type into @**name** where an
// account has that name, except in code.
func (s *Server) mentionNames(content string) string {
	lines := strings.Split(content, "\n")
	fence := ""
	for i, line := range lines {
		if m := fenceLine.FindStringSubmatch(strings.TrimRight(line, " \t\r")); fence == "" && m != nil {
			if kind := strings.ToLower(m[2]); kind != "quote" && kind != "spoiler" {
				fence = m[1]
			}
			continue
		}
		if fence != "" {
			if strings.TrimRight(line, " \t\r") == fence {
				fence = ""
			}
			continue
		}
		parts := strings.Split(line, "`")
		for n := 0; n < len(parts); n += 2 { // what is between two backticks is code
			parts[n] = atName.ReplaceAllStringFunc(parts[n], func(found string) string {
				m := atName.FindStringSubmatch(found)
				name := strings.TrimRight(m[2], ".-_")
				if a, ok := s.people.byName(name); ok {
					return m[1] + "@**" + a.FullName + "**" + m[2][len(name):]
				}
				return found
			})
		}
		lines[i] = strings.Join(parts, "`")
	}
	return strings.Join(lines, "\n")
}
