package markup

import "strings"

// maxHeader is the most code points of a spoiler's header; the rest of a longer one is the first line inside.
const maxHeader = 120

// maxFolds is how deep spoilers stand in each other; one further down is open
// under its header, since each fence is repeated in every part.
const maxFolds = 3

// spoiler folds blocks away; a header too long for its line goes on inside.
func (z *zulipText) spoiler(b Block) {
	heads := cutWords(flat(b.Spans), maxHeader)
	if z.deep == maxFolds {
		z.rows(z.line(Spans(B(strings.Join(heads, " "))))...)
		z.blocks(b.Blocks, false)
		return
	}
	inside := &zulipText{budget: z.budget, deep: z.deep + 1}
	for _, rest := range heads[1:] {
		inside.rows(z.line(Spans(F(rest)))...)
	}
	inside.blocks(b.Blocks, true)
	if len(inside.out) == 0 {
		inside.rows("")
	}
	var all []string
	for _, r := range inside.out {
		all = append(all, r.text)
		for f := r.in; f != nil; f = f.outer {
			all = append(all, append(f.open, f.close)...)
		}
	}
	f := fence(all)
	z.within(&frame{open: []string{f + "spoiler " + header(heads[0])}, close: f}, func() {
		for _, r := range inside.out {
			z.out = append(z.out, row{r.text, nest(r.in, z.in)})
		}
	})
}

// nest puts the outermost frame of a chain into another.
func nest(chain, outer *frame) *frame {
	if chain == nil {
		return outer
	}
	for f := chain; ; f = f.outer {
		if f.outer == outer {
			return chain
		}
		if f.outer == nil {
			f.outer = outer
			return chain
		}
	}
}

// header writes a text where a backtick or a tilde would void the fence.
func header(text string) string { return silent(unformed(text)) }
