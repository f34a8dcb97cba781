package commands

import "strings"

// node is one word of what a bot knows: a verb, or a word of another name of a command.
type node struct {
	next    map[string]*node // by the next word, in lower case
	command *Command         // what the words up to here name; nil when they are only a beginning
	alone   bool             // they name it only when nothing follows: another name, Command.Also
}

// learn makes words, in lower case, name c.
func (n *node) learn(words []string, c *Command, alone bool) {
	for _, w := range words {
		if n.next == nil {
			n.next = map[string]*node{}
		}
		if n.next[w] == nil {
			n.next[w] = &node{}
		}
		n = n.next[w]
	}
	n.command, n.alone = c, alone
}

// Route finds the command of a bot that a text begins with, and the text that
// follows its name; what follows another name of a command is empty. False when
// the text begins with no command, or with signs that only Parse reads, such as
// quotes. It allocates nothing.
func (r *Registry) Route(bot, text string) (c *Command, rest string, ok bool) {
	n := r.routes[bot]
	if n == nil {
		return nil, "", false
	}
	for len(n.next) > 0 {
		word, after, plain := cutWord(text)
		if !plain {
			break
		}
		if n = n.child(word); n == nil {
			break
		}
		text = after
		if n.command != nil && (!n.alone || text == "") {
			c, rest = n.command, text
		}
	}
	return c, rest, c != nil
}

// routeWords is Route for words that were read already; rest are those that follow.
func (r *Registry) routeWords(bot string, words []string) (c *Command, rest []string, ok bool) {
	n := r.routes[bot]
	for i, w := range words {
		if n == nil {
			break
		}
		if n = n.child(w); n != nil && n.command != nil && (!n.alone || i == len(words)-1) {
			c, rest = n.command, words[i+1:]
		}
	}
	return c, rest, c != nil
}

// longestWord is the most bytes of a word of a command's name.
const longestWord = 40

// child is the node of the next word, however it is capitalised; nil when there is none.
func (n *node) child(word string) *node {
	if len(word) > longestWord {
		return nil
	}
	if found := n.next[word]; found != nil {
		return found
	}
	var low [longestWord]byte
	for i := range len(word) {
		b := word[i]
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		low[i] = b
	}
	return n.next[string(low[:len(word)])] // no copy is made to look up
}

// cutWord takes the first word of a text, and the text behind it without the
// space between. It is plain when it has letters, digits and dashes only, and
// so means the same wherever words are read.
func cutWord(text string) (word, after string, plain bool) {
	i := 0
	for i < len(text) && wordByte[text[i]] {
		i++
	}
	word, after = text[:i], text[i:]
	if after == "" {
		return word, "", i > 0
	}
	if !spaceByte(after[0]) {
		return "", "", false
	}
	for after != "" && spaceByte(after[0]) {
		after = after[1:]
	}
	return word, after, i > 0
}

// wordByte tells which bytes a plain word has.
var wordByte = func() (set [256]bool) {
	for _, b := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") {
		set[b] = true
	}
	return set
}()

func spaceByte(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

// lowered are the words of a name in lower case.
func lowered(name string) []string { return strings.Fields(strings.ToLower(name)) }
