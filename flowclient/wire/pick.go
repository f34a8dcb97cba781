package wire

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// wanted is a field of a JSON object that is read: one of text, number and
// object is set, and says of which type it must be and where it goes.
type wanted struct {
	name   string // ASCII
	text   *string
	number *int
	object []wanted
}

// readPayload reads a git server's delivery, of which only fields matter, into
// the struct that they point into. The result and the error are those of
// json.Unmarshal, which takes over wherever the one pass meets anything unusual.
func readPayload(body []byte, into any, fields []wanted) error {
	if pick(body, fields) {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return malformed(body, err)
	}
	return nil
}

// pick reads the fields of the JSON object that is body, in one pass that keeps
// nothing else. ok is false when the body is not valid, a field is not of its
// type, or encoding/json would do more than copy it: escapes, null, numbers
// that are not plain, names in another case. Some fields may have been read then.
func pick(body []byte, fields []wanted) (ok bool) {
	p := picker{body: body}
	p.space()
	if !p.object(fields, 1) {
		return false
	}
	p.space()
	return p.at == len(body)
}

// maxDepth is how deep a payload may nest before encoding/json takes over.
const maxDepth = 64

// picker is a place in a JSON text. Its methods pass one thing over, and tell
// whether it was well formed.
type picker struct {
	body []byte
	at   int
}

// next is the byte at the place, 0 at the end; no JSON holds a bare 0.
func (p *picker) next() byte {
	if p.at < len(p.body) {
		return p.body[p.at]
	}
	return 0
}

func (p *picker) space() {
	for p.at < len(p.body) {
		switch p.body[p.at] {
		case ' ', '\n', '\t', '\r':
			p.at++
		default:
			return
		}
	}
}

// take passes c over, and the space after it.
func (p *picker) take(c byte) bool {
	if p.next() != c {
		return false
	}
	p.at++
	p.space()
	return true
}

// object reads the fields of an object and passes the others over.
func (p *picker) object(fields []wanted, depth int) bool {
	if depth > maxDepth || !p.take('{') {
		return false
	}
	if p.next() == '}' {
		p.at++
		return true
	}
	for {
		name, plain, ok := p.text()
		if !ok {
			return false
		}
		p.space()
		if !p.take(':') {
			return false
		}
		field, sure := find(fields, name, plain)
		if !sure || !p.field(field, depth) {
			return false
		}
		p.space()
		if !p.take(',') {
			break
		}
	}
	if p.next() != '}' {
		return false
	}
	p.at++
	return true
}

// find is the field of the name, nil when it is not wanted; encoding/json has
// to say whether an unusual name, or one in another case, means a field.
func find(fields []wanted, name []byte, plain bool) (field *wanted, sure bool) {
	if len(fields) == 0 {
		return nil, true
	}
	if !plain || !ascii(name) {
		return nil, false
	}
	for i := range fields {
		switch f := &fields[i]; {
		case len(name) != len(f.name):
		case string(name) == f.name:
			return f, true
		case strings.EqualFold(string(name), f.name):
			return nil, false
		}
	}
	return nil, true
}

// field reads the value of a wanted field, or passes that of another over.
func (p *picker) field(f *wanted, depth int) bool {
	switch {
	case f == nil:
		return p.value(depth)
	case f.object != nil:
		return p.object(f.object, depth+1)
	case f.number != nil:
		start := p.at
		if !p.digits() {
			return false
		}
		n, err := strconv.Atoi(string(p.body[start:p.at]))
		*f.number = n
		return err == nil
	}
	text, plain, ok := p.text()
	if !ok || !plain || !utf8.Valid(text) {
		return false
	}
	*f.text = string(text)
	return true
}

// value passes any value over.
func (p *picker) value(depth int) bool {
	switch c := p.next(); c {
	case '"':
		_, _, ok := p.text()
		return ok
	case '{':
		return p.object(nil, depth+1)
	case '[':
		return p.list(depth + 1)
	case 't':
		return p.word("true")
	case 'f':
		return p.word("false")
	case 'n':
		return p.word("null")
	default:
		return p.numeral()
	}
}

func (p *picker) list(depth int) bool {
	if depth > maxDepth || !p.take('[') {
		return false
	}
	if p.next() == ']' {
		p.at++
		return true
	}
	for {
		if !p.value(depth) {
			return false
		}
		p.space()
		if !p.take(',') {
			break
		}
	}
	if p.next() != ']' {
		return false
	}
	p.at++
	return true
}

func (p *picker) word(word string) bool {
	if len(p.body)-p.at < len(word) || string(p.body[p.at:p.at+len(word)]) != word {
		return false
	}
	p.at += len(word)
	return true
}

// numeral passes a number over as JSON writes them.
func (p *picker) numeral() bool {
	if p.next() == '-' {
		p.at++
	}
	if !p.digits() {
		return false
	}
	if p.next() == '.' {
		p.at++
		if !p.run() {
			return false
		}
	}
	if c := p.next(); c == 'e' || c == 'E' {
		p.at++
		if c := p.next(); c == '+' || c == '-' {
			p.at++
		}
		return p.run()
	}
	return true
}

// digits passes a whole number over, which does not begin with a zero unless it is one.
func (p *picker) digits() bool {
	if p.next() == '0' {
		p.at++
		return true
	}
	return p.run()
}

// run passes one digit over, or more.
func (p *picker) run() bool {
	start := p.at
	for c := p.next(); '0' <= c && c <= '9'; c = p.next() {
		p.at++
	}
	return p.at > start
}

// text passes a string over; it is what stands between the quotes, and plain
// when no escape is in it.
func (p *picker) text() (text []byte, plain, ok bool) {
	if p.next() != '"' {
		return nil, false, false
	}
	p.at++
	start := p.at
	plain = true
	for {
		p.letters()
		switch p.next() {
		case '"':
			text = p.body[start:p.at]
			p.at++
			return text, plain, true
		case '\\':
			plain = false
			if !p.escape() {
				return nil, false, false
			}
		default: // a control character, or the end
			return nil, false, false
		}
	}
}

// letters passes over what may stand in a string as it is, eight bytes at a
// time: for n up to 0x80, (x-ones*n) &^ x has a high bit in some byte exactly
// when some byte of x is less than n.
func (p *picker) letters() {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for p.at+8 <= len(p.body) {
		x := binary.LittleEndian.Uint64(p.body[p.at:])
		quote, slash := x^ones*'"', x^ones*'\\'
		if ((x-ones*' ')&^x|(quote-ones)&^quote|(slash-ones)&^slash)&high != 0 {
			break
		}
		p.at += 8
	}
	for p.at < len(p.body) {
		if c := p.body[p.at]; c < ' ' || c == '"' || c == '\\' {
			return
		}
		p.at++
	}
}

// escape passes over a backslash and what belongs to it.
func (p *picker) escape() bool {
	p.at++
	c := p.next()
	p.at++
	if c != 'u' {
		return c != 0 && strings.IndexByte(`"\/bfnrt`, c) >= 0
	}
	for range 4 {
		c := p.next()
		if lower := c | ' '; (c < '0' || c > '9') && (lower < 'a' || lower > 'f') {
			return false
		}
		p.at++
	}
	return true
}

func ascii(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
