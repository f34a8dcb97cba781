package observer

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"platform.dev/platform/server/web"
)

// selector is a query of LogQL without pipeline stages: matchers of labels,
// then filters of lines.
type selector struct {
	matchers []matcher
	filters  []filter
}

// matcher is name="value", !=, =~ or !~.
type matcher struct {
	name, op, value string
	expr            *regexp.Regexp // of =~ and !~, anchored at both ends
}

// filter is |= "text", !=, |~ or !~.
type filter struct {
	op, text string
	expr     *regexp.Regexp
}

// matches tells whether a stream's labels are meant; a label that is absent is "".
func (s selector) matches(labels map[string]string) bool {
	for _, m := range s.matchers {
		if !m.matches(labels[m.name]) {
			return false
		}
	}
	return true
}

func (m matcher) matches(value string) bool {
	switch m.op {
	case "=":
		return value == m.value
	case "!=":
		return value != m.value
	case "=~":
		return m.expr.MatchString(value)
	}
	return !m.expr.MatchString(value)
}

// keeps tells whether a line passes the filters.
func (s selector) keeps(line string) bool {
	for _, f := range s.filters {
		var found bool
		if f.expr != nil {
			found = f.expr.MatchString(line)
		} else {
			found = strings.Contains(line, f.text)
		}
		if found != (f.op[0] == '|') {
			return false
		}
	}
	return true
}

// parser reads a query from its beginning.
type parser struct {
	whole, rest string
}

// parseSelector reads {name="value", ...} |= "text" ... Its errors are worded as Loki's.
func parseSelector(text string) (selector, error) {
	if len(text) > maxQuery {
		return selector{}, refuse(http.StatusBadRequest, "parse error : the query has %d bytes; %d are allowed", len(text), maxQuery)
	}
	p := &parser{whole: text, rest: text}
	var s selector
	if err := p.expect("{"); err != nil {
		return selector{}, err
	}
	for !p.take("}") {
		m, err := p.matcher()
		if err != nil {
			return selector{}, err
		}
		s.matchers = append(s.matchers, m)
		if !p.take(",") {
			if err := p.expect("}"); err != nil {
				return selector{}, err
			}
			break
		}
	}
	for p.skip(); p.rest != ""; p.skip() {
		f, err := p.filter()
		if err != nil {
			return selector{}, err
		}
		s.filters = append(s.filters, f)
	}
	return s, s.check()
}

// check refuses a selector that could mean every stream, as Loki does.
func (s selector) check() error {
	for _, m := range s.matchers {
		if !m.matches("") {
			return nil
		}
	}
	return refuse(http.StatusBadRequest, `parse error : queries require at least one regexp or equality matcher that does not have an empty-compatible value. For instance, app=~".*" does not meet this requirement, but app=~".+" will`)
}

// operators of each place, the longer ones first.
var (
	matcherOps = []string{"=~", "!~", "!=", "="}
	filterOps  = []string{"|=", "|~", "!=", "!~"}
)

func (p *parser) matcher() (matcher, error) {
	p.skip()
	end := 0
	for end < len(p.rest) && (p.rest[end] == '_' || p.rest[end] >= '0' && p.rest[end] <= '9' || p.rest[end]|0x20 >= 'a' && p.rest[end]|0x20 <= 'z') {
		end++
	}
	m := matcher{name: p.rest[:end]}
	if !labelName.MatchString(m.name) {
		return m, p.unexpected("a label's name or }")
	}
	p.rest = p.rest[end:]
	var err error
	if m.op, m.value, err = p.comparison(matcherOps); err != nil {
		return m, err
	}
	if strings.HasSuffix(m.op, "~") {
		m.expr, err = p.expression("^(?:" + m.value + ")$")
	}
	return m, err
}

func (p *parser) filter() (f filter, err error) {
	if f.op, f.text, err = p.comparison(filterOps); err != nil {
		return f, err
	}
	if strings.HasSuffix(f.op, "~") {
		f.expr, err = p.expression(f.text)
	}
	return f, err
}

// comparison reads one of ops and a quoted text.
func (p *parser) comparison(ops []string) (op, value string, err error) {
	for _, candidate := range ops {
		if p.take(candidate) {
			op = candidate
			break
		}
	}
	if op == "" {
		return "", "", p.unexpected(strings.Join(ops, ", ") + " (pipeline stages and metric queries are not spoken here)")
	}
	p.skip()
	quoted, err := strconv.QuotedPrefix(p.rest)
	if err != nil || quoted[0] == '\'' {
		return "", "", p.unexpected("a quoted text")
	}
	if value, err = strconv.Unquote(quoted); err != nil {
		return "", "", p.unexpected("a quoted text")
	}
	p.rest = p.rest[len(quoted):]
	return op, value, nil
}

func (p *parser) expression(text string) (*regexp.Regexp, error) {
	expr, err := regexp.Compile(text)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "parse error : %s", web.Echo(err.Error()))
	}
	return expr, nil
}

// take consumes token where it is next.
func (p *parser) take(token string) bool {
	p.skip()
	rest, found := strings.CutPrefix(p.rest, token)
	if found {
		p.rest = rest
	}
	return found
}

func (p *parser) expect(token string) error {
	if p.take(token) {
		return nil
	}
	return p.unexpected(token)
}

func (p *parser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// unexpected says where the query cannot be read on.
func (p *parser) unexpected(want string) error {
	read := p.whole[:len(p.whole)-len(p.rest)]
	line, col := 1+strings.Count(read, "\n"), len(read)-strings.LastIndex(read, "\n")
	found := "end of query"
	if p.rest != "" {
		found = fmt.Sprintf("%q", web.Echo(p.rest)[:min(len(p.rest), 20)])
	}
	return refuse(http.StatusBadRequest, "parse error at line %d, col %d: syntax error: unexpected %s, expecting %s", line, col, found, want)
}
