package markup

import (
	"unicode"
)

// wide are the characters that take two columns of a terminal: East Asian
// scripts and their forms, and pictures (Unicode's East Asian Width W and F, in
// the ranges that people write).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x231a, Hi: 0x231b, Stride: 1}, {Lo: 0x23e9, Hi: 0x23ec, Stride: 1},
		{Lo: 0x23f0, Hi: 0x23f3, Stride: 3}, {Lo: 0x25fd, Hi: 0x25fe, Stride: 1}, {Lo: 0x2614, Hi: 0x2615, Stride: 1},
		{Lo: 0x2648, Hi: 0x2653, Stride: 1}, {Lo: 0x26a1, Hi: 0x26a1, Stride: 1}, {Lo: 0x26d4, Hi: 0x26d4, Stride: 1},
		{Lo: 0x2705, Hi: 0x2705, Stride: 1}, {Lo: 0x270a, Hi: 0x270b, Stride: 1}, {Lo: 0x2728, Hi: 0x2728, Stride: 1},
		{Lo: 0x274c, Hi: 0x274e, Stride: 2}, {Lo: 0x2753, Hi: 0x2755, Stride: 1}, {Lo: 0x2795, Hi: 0x2797, Stride: 1},
		{Lo: 0x2b50, Hi: 0x2b55, Stride: 5}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xa960, Hi: 0xa97c, Stride: 1}, {Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1},
		{Lo: 0xfe30, Hi: 0xfe6f, Stride: 1}, {Lo: 0xff01, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x16fe0, Hi: 0x18aff, Stride: 1}, {Lo: 0x1b000, Hi: 0x1b2fb, Stride: 1}, {Lo: 0x1f18e, Hi: 0x1f19a, Stride: 1},
		{Lo: 0x1f1e6, Hi: 0x1f202, Stride: 1}, {Lo: 0x1f210, Hi: 0x1f265, Stride: 1}, {Lo: 0x1f300, Hi: 0x1f64f, Stride: 1},
		{Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1}, {Lo: 0x1f7e0, Hi: 0x1f7f0, Stride: 1}, {Lo: 0x1f90c, Hi: 0x1f9ff, Stride: 1},
		{Lo: 0x1fa70, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1},
	},
}

// across is how many columns of a terminal a text takes.
func across(text string) int {
	n := 0
	for _, r := range text {
		n += column(r)
	}
	return n
}

// column is how many columns a character takes: none where it is put on the one before.
func column(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// cutAcross divides a text into pieces of at most n columns, n at least 2; an
// empty text is one empty piece.
func cutAcross(text string, n int) []string {
	var out []string
	size, from := 0, 0
	for at, r := range text {
		c := column(r)
		if size+c > n {
			out = append(out, text[from:at])
			size, from = 0, at
		}
		size += c
	}
	return append(out, text[from:])
}
