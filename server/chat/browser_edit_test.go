package chat_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// saved waits until a message reads so, is marked as edited, and is no longer in a box.
func (b *tab) saved(message, text string) {
	b.t.Helper()
	b.shows(message+" .content", text)
	b.shows(message+" header .note", "edited")
	b.until(`!document.querySelector('form.edit')`)
}

func TestOnesOwnMessageIsEditedAndDeletedInPlace(t *testing.T) {
	w, address := serveAt(t, filepath.Join(t.TempDir(), "chat.db"), "127.0.0.1:0")
	b := openTab(t, address)
	ann, bob := w.person("Ann"), w.person("Bob")
	w.stream("general", ann, bob)
	bob.post("general", "t", "good morning")
	first, second := ann.post("general", "t", "frist"), ann.post("general", "t", "second")
	b.open("/read/1/t")
	b.signIn(ann)
	b.at("/read/1/t")
	value[int](b, "window.stayed = 1")
	assert.Zero(t, value[int](b, `document.querySelectorAll('#message-1 .acts a').length`), "another's message offers nothing")

	own := "#message-" + itoa(first)
	b.do(chromedp.Click(chromedp.CSS(own + " .content")))
	b.until(`getComputedStyle(document.querySelector('` + own + ` a.edit')).opacity === '1'`)
	b.do(chromedp.Click(chromedp.CSS(own + " a.edit")))
	b.until(`document.activeElement.matches('` + own + ` textarea') && document.activeElement.value === 'frist'`)
	assert.False(t, value[bool](b, `document.querySelector('`+own+` .content').checkVisibility()`), "the box takes the message's place")
	b.do(chromedp.SetValue(chromedp.CSS(own+" textarea"), "first *of all*"), chromedp.Click(chromedp.CSS(own+" form.edit button")))
	b.saved(own, "first of all")
	assert.Equal(t, "first *of all*", bob.ok("GET", "/messages/"+itoa(first), form{"apply_markdown": false})["raw_content"])

	b.do(chromedp.Click(chromedp.CSS(own+" .content")), chromedp.Click(chromedp.CSS(own+" a.delete")))
	b.shows("dialog[open] blockquote", "first of all")
	b.do(chromedp.Click(chromedp.CSS("dialog[open] .cancel")))
	b.until(`!document.querySelector('dialog')`)
	bob.ok("GET", "/messages/"+itoa(first), nil)
	b.do(chromedp.Click(chromedp.CSS(own+" .content")), chromedp.Click(chromedp.CSS(own+" a.delete")), chromedp.Click(chromedp.CSS("dialog[open] button")))
	b.until(`!document.querySelector('` + own + `') && !document.querySelector('dialog')`)
	bob.fails(400, "BAD_REQUEST", "GET", "/messages/"+itoa(first), nil)
	assert.True(t, value[bool](b, `document.querySelector('#message-`+itoa(second)+` header').getBoundingClientRect().height > 5`), "the name stays above what is left of its sender's")

	// What happens elsewhere, while a box is open.
	b.do(chromedp.Click(chromedp.CSS("#message-"+itoa(second)+" .content")), chromedp.Click(chromedp.CSS("#message-"+itoa(second)+" a.edit")))
	b.until(`!!document.querySelector('form.edit')`)
	bob.ok("POST", "/messages/"+itoa(second)+"/reactions", form{"emoji_name": "eyes"})
	bob.post("general", "t", "meanwhile")
	b.shows("#messages", "meanwhile")
	assert.Equal(t, "second", value[string](b, `document.querySelector('form.edit textarea').value`))
	w.stop()
	b.do(chromedp.SetValue(chromedp.CSS("form.edit textarea"), "not to be lost"), chromedp.Click(chromedp.CSS("form.edit button")))
	b.until(`document.querySelector('form.edit .problem').textContent !== ''`)
	assert.Equal(t, "not to be lost", value[string](b, `document.querySelector('form.edit textarea').value`), "what could not be saved stays in its box")
	assert.Equal(t, 1, value[int](b, "window.stayed"), "all of it on one page")
}

func TestTheKeyboardIsEnoughToEditAndDelete(t *testing.T) {
	w, address := serveAt(t, filepath.Join(t.TempDir(), "chat.db"), "127.0.0.1:0")
	b := openTab(t, address)
	ann, bob := w.person("Ann"), w.person("Bob")
	w.stream("general", ann, bob)
	own := ann.post("general", "t", "one")
	bob.post("general", "t", "two")
	b.open("/read/1/t")
	b.signIn(ann)
	b.at("/read/1/t")
	message := "#message-" + itoa(own)
	focused := func(selector string) {
		t.Helper()
		b.until(`document.activeElement.matches('` + selector + `')`)
	}

	b.press("k")
	b.press("e")
	b.press(kb.Delete)
	focused("#message-2") // another's: nothing opens
	b.press("k")
	b.press("e")
	focused(message + " textarea")
	b.press(" more")
	b.press(kb.Escape)
	focused(message)
	b.shows(message+" .content", "one")
	assert.Zero(t, value[int](b, `document.querySelectorAll('form.edit, header .note').length`), "nothing was changed")
	b.press("e")
	focused(message + " textarea")
	b.press(", or so" + kb.Enter)
	b.saved(message, "one, or so")
	focused(message)

	b.press(kb.Escape)
	b.press(kb.ArrowLeft)
	focused(message + " textarea")
	b.press(kb.Tab)
	focused(message + " form.edit button")
	b.press(kb.Tab)
	focused(message + " form.edit .cancel")
	b.press(kb.Enter)
	focused(message)

	// And by Tab alone: what is hidden until it is needed is shown when it is reached.
	b.press(kb.Tab)
	b.press(kb.Tab)
	focused(message + " a.edit")
	b.until(`getComputedStyle(document.activeElement).opacity === '1'`)
	b.press(kb.Tab)
	focused(message + " a.delete")
	b.press(kb.Enter)
	focused("dialog[open] button")
	b.press(kb.Escape)
	b.until(`!document.querySelector('dialog')`)
	focused(message)
	b.press(kb.Delete)
	focused("dialog[open] button")
	b.press(kb.Enter)
	b.until(`!document.querySelector('` + message + `')`)
	focused("#message-2")
	ann.fails(400, "BAD_REQUEST", "GET", "/messages/"+itoa(own), nil)
	assert.Empty(t, b.complaints())
}

func TestAMessageIsEditedOnAPhone(t *testing.T) {
	w, address := serveAt(t, filepath.Join(t.TempDir(), "chat.db"), "127.0.0.1:0")
	b := openTab(t, address)
	ann := w.person("Ann")
	w.stream("general", ann)
	for range 12 {
		ann.post("general", "t", strings.Repeat("words and ", 20)+strings.Repeat("long", 40))
	}
	b.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile, chromedp.EmulateTouch))
	b.open("/read/1/t")
	b.signIn(ann)
	b.at("/read/1/t")
	fits := func(what string) {
		t.Helper()
		assert.LessOrEqual(t, value[int](b, "document.documentElement.scrollWidth"), 360, what)
		assert.Empty(t, value[[]string](b, `[...document.querySelectorAll('form.edit, form.edit *, dialog[open], dialog[open] *, .acts a')].filter((e) => e.checkVisibility() && (e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < 0)).map((e) => e.outerHTML.slice(0, 80))`), what)
	}
	b.do(chromedp.Click(chromedp.CSS("#message-12 .content")))
	b.until(`getComputedStyle(document.querySelector('#message-12 a.edit')).opacity === '1'`)
	fits("what can be done")
	b.do(chromedp.Click(chromedp.CSS("#message-12 a.edit")))
	b.until(`document.activeElement.matches('#message-12 textarea')`)
	fits("the box")
	b.until(`document.querySelector('form.edit button').getBoundingClientRect().bottom <= document.getElementById('compose').getBoundingClientRect().top`)
	b.do(chromedp.SetValue(chromedp.CSS("#message-12 textarea"), "short"), chromedp.Click(chromedp.CSS("form.edit button")))
	b.saved("#message-12", "short")
	b.do(chromedp.Click(chromedp.CSS("#message-12 .content")), chromedp.Click(chromedp.CSS("#message-12 a.delete")))
	b.until(`!!document.querySelector('dialog[open]')`)
	fits("the question")
	b.do(chromedp.Click(chromedp.CSS("dialog[open] button")))
	b.until(`!document.querySelector('#message-12')`)
	assert.Empty(t, b.complaints())
}
