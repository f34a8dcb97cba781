package announcer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/template"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// Templates are an operator's own words for kinds of announcements. The zero
// value has none. ReadTemplates makes one.
type Templates struct{ by map[string]wording }

// wording is one kind's words; a nil template leaves what we say.
type wording struct {
	skip        bool
	title, body *template.Template
}

// About is what a template speaks of.
type About struct {
	Kind        string // of the event, or of several (build.several, lock.several)
	Project     string // "" of what concerns every project
	Component   string // "" of what concerns all of a project
	At          time.Time
	Walkthrough bool
	Body        any // the event's by its kind, as flowclient.Event says; a Push of build.several, a Locking of lock.several
}

// about is an event for templates, with a body that was read from it.
func about(e flowclient.Event, body any) About {
	return About{Kind: e.Kind, Project: e.Project, Component: e.Component, At: e.At, Walkthrough: e.Walkthrough, Body: body}
}

// bodyOf is the type of the body of a kind that has words of its own; nil when there is no such kind.
func bodyOf(kind string) reflect.Type {
	if of, several := severals[kind]; several {
		return of
	}
	if kinds[kind].as != "" {
		return nil
	}
	return kinds[kind].body
}

// skips tells whether messages of a kind, such as "announce.build.several", are not told.
func (t Templates) skips(message string) bool {
	return t.by[strings.TrimPrefix(message, kindPrefix)].skip
}

// reword puts an operator's words in place of ours; ok is false when the kind
// is not to be told. Words that cannot be said of this very event leave ours.
func (a *Announcer) reword(ctx context.Context, e flowclient.Event, s said, subject About) (said, bool) {
	kind := strings.TrimPrefix(s.message.Kind, kindPrefix)
	w := a.cfg.Templates.by[kind]
	if w.skip || a.cfg.Templates.skips(e.Kind) {
		return said{}, false
	}
	if w.title == nil && w.body == nil {
		return s, true
	}
	if subject.Body == nil {
		body := reflect.New(kinds[e.Kind].body)
		if err := json.Unmarshal(e.Body, body.Interface()); err != nil {
			return s, true // it was read before this, and is the same
		}
		subject.Body = body.Elem().Interface()
	}
	subject.Kind = kind
	m, err := w.write(s.message, subject, a.author)
	if err != nil {
		a.cfg.Log.ErrorContext(ctx, "the template of an announcement does not fit it", "seq", e.Seq, "err", err)
		return s, true
	}
	s.message = m
	return s, true
}

// write is our message in the template's words.
func (w wording) write(ours markup.Message, subject About, who people) (markup.Message, error) {
	m := ours
	if w.title != nil {
		lines, err := execute(w.title, subject, who)
		if err != nil {
			return ours, err
		}
		m.Title = nil
		for _, line := range lines {
			if len(line) == 0 {
				continue
			}
			if m.Title != nil {
				m.Title = append(m.Title, markup.T(" "))
			}
			for _, p := range line {
				if p.ours {
					return ours, errors.New("builtin has no place in a title")
				}
				m.Title = append(m.Title, p.span)
			}
		}
		if m.Title == nil {
			return ours, errors.New("the title is empty")
		}
	}
	if w.body != nil {
		lines, err := execute(w.body, subject, who)
		if err != nil {
			return ours, err
		}
		if m.Blocks, err = blocks(lines, ours.Blocks); err != nil {
			return ours, err
		}
	}
	return m, nil
}

// blocks makes a body of lines: those that begin with "- " are a list, an empty
// one ends a paragraph, and one that is nothing but builtin is what we would have said.
func blocks(lines [][]piece, ours []markup.Block) (all []markup.Block, err error) {
	var paragraph []markup.Span
	var items [][]markup.Span
	flush := func() {
		if paragraph != nil {
			all, paragraph = append(all, markup.Text(paragraph...)), nil
		}
		if items != nil {
			all, items = append(all, markup.List(items...)), nil
		}
	}
	for _, line := range lines {
		if len(line) == 0 {
			if items == nil { // a list goes on behind what a range leaves between its turns
				flush()
			}
			continue
		}
		if len(line) == 1 && line[0].ours {
			flush()
			all = append(all, ours...)
			continue
		}
		spans := make([]markup.Span, len(line))
		for i, p := range line {
			if p.ours {
				return nil, errors.New("builtin stands on a line of its own")
			}
			spans[i] = p.span
		}
		if text, item := strings.CutPrefix(spans[0].Text, "- "); item && spans[0].Kind == markup.SpanText {
			if paragraph != nil {
				flush()
			}
			spans[0].Text = text
			items = append(items, spans)
			continue
		}
		if items != nil {
			flush()
		}
		if paragraph != nil {
			paragraph = append(paragraph, markup.T(" "))
		}
		paragraph = append(paragraph, spans...)
	}
	flush()
	return all, nil
}

// piece is a span, or the place of what we would have said.
type piece struct {
	span markup.Span
	ours bool
}

const (
	// mark stands around the number of a piece in what a template writes; no template may contain it.
	mark = "\x00"
	// maxWritten bounds what a template writes, in bytes, and as much again what its values are;
	// maxPieces bounds the values, and maxTurns how often it goes round in all.
	maxWritten, maxPieces, maxTurns = 16 << 10, 2000, 10_000
)

// bounded is a text that refuses to grow beyond maxWritten.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxWritten {
		return 0, fmt.Errorf("it writes more than %d bytes", maxWritten)
	}
	return b.Builder.Write(p)
}

// execute runs a template and gives its lines. What the template itself says is
// ours; each value that it shows is a piece of its own that was never part of
// the text, so that nothing in a value can be taken for the template's words.
func execute(t *template.Template, subject About, who people) ([][]piece, error) {
	t, err := t.Clone()
	if err != nil {
		return nil, err
	}
	var pieces []piece
	size := 0
	t.Funcs(functions(who)).Funcs(template.FuncMap{show: func(v any) (string, error) {
		switch v := v.(type) {
		case markup.Span:
			pieces = append(pieces, piece{span: v})
		case builtin:
			pieces = append(pieces, piece{ours: true})
		default:
			pieces = append(pieces, piece{span: markup.F(fmt.Sprint(v))})
		}
		if size += len(pieces[len(pieces)-1].span.Text); size > maxWritten || len(pieces) > maxPieces {
			return "", fmt.Errorf("it shows more than %d values, or more than %d bytes of them", maxPieces, maxWritten)
		}
		return fmt.Sprintf("%s%d%s", mark, len(pieces)-1, mark), nil
	}})
	var out bounded
	if err := t.Execute(&out, subject); err != nil {
		return nil, err
	}
	var lines [][]piece
	for line := range strings.SplitSeq(out.String(), "\n") {
		var of []piece
		for i, part := range strings.Split(strings.TrimSpace(line), mark) {
			var n int
			switch {
			case i%2 == 0 && part != "":
				of = append(of, piece{span: markup.T(part)})
			case i%2 == 1:
				if _, err := fmt.Sscan(part, &n); err != nil {
					return nil, fmt.Errorf("piece %q: %w", part, err)
				}
				of = append(of, pieces[n])
			}
		}
		lines = append(lines, of)
	}
	return lines, nil
}

// builtin is the place of what we would have said.
type builtin struct{}

// show is the function that every value passes on its way into the text.
const show = "_show"

// turn is the function that every turn of a range calls.
const turn = "_turn"

// functions are what templates may call besides those of the language.
func functions(who people) template.FuncMap {
	text := func(v any) (string, error) {
		if _, span := v.(markup.Span); span {
			return "", errors.New("a text with a form cannot be given another")
		}
		return fmt.Sprint(v), nil
	}
	formed := func(form func(string) markup.Span) func(any) (markup.Span, error) {
		return func(v any) (markup.Span, error) {
			s, err := text(v)
			return form(s), err
		}
	}
	turns := 0
	return template.FuncMap{
		turn: func() (string, error) {
			if turns++; turns > maxTurns {
				return "", fmt.Errorf("it goes round more than %d times", maxTurns)
			}
			return "", nil
		},
		"bold": formed(markup.B), "code": formed(markup.C), "mention": formed(who),
		"link": func(v any, url string) (markup.Span, error) {
			s, err := text(v)
			return markup.L(s, url), err
		},
		"short":   flowclient.ShortSHA,
		"took":    span,
		"at":      func(t time.Time) string { return t.UTC().Format("Mon 2 Jan 15:04 MST") },
		"builtin": func() builtin { return builtin{} },
		show:      func(any) string { return "" },
	}
}
