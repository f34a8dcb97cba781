package markup

import (
	"strings"

	"github.com/slack-go/slack"
)

// SlackWords is what blocks of Slack say, one line for each line or cell, in
// order: for tests that read what was posted. Text in mrkdwn stays mrkdwn, a
// button is its text in brackets, and a kind of block that this package does
// not render says nothing.
func SlackWords(blocks []slack.Block) string {
	var lines []string
	add := func(texts ...*slack.TextBlockObject) {
		for _, t := range texts {
			if t != nil {
				lines = append(lines, t.Text)
			}
		}
	}
	for _, b := range blocks {
		switch b := b.(type) {
		case *slack.HeaderBlock:
			add(b.Text)
		case *slack.SectionBlock:
			add(b.Text)
			add(b.Fields...)
		case *slack.ContextBlock:
			for _, e := range b.ContextElements.Elements {
				if text, ok := e.(*slack.TextBlockObject); ok {
					add(text)
				}
			}
		case *slack.RichTextBlock:
			lines = append(lines, richWords(b.Elements))
		case *slack.TableBlock:
			for _, row := range b.Rows {
				for _, cell := range row {
					lines = append(lines, cellWords(cell))
				}
			}
		case *slack.ContainerBlock:
			add(b.Title)
			lines = append(lines, SlackWords(b.ChildBlocks.BlockSet))
		case *slack.ActionBlock:
			for _, e := range b.Elements.ElementSet {
				if button, ok := e.(*slack.ButtonBlockElement); ok {
					lines = append(lines, "["+button.Text.Text+"]")
				}
			}
		}
	}
	return strings.Join(lines, "\n")
}

// cellWords is what a cell of a table says.
func cellWords(cell slack.TableCell) string {
	switch cell := cell.(type) {
	case *slack.TableRawTextCell:
		return cell.Text
	case *slack.TableRichTextCell:
		return richWords(cell.Elements)
	}
	return ""
}

// richWords is what rich text says.
func richWords(elements []slack.RichTextElement) string {
	var b strings.Builder
	for _, e := range elements {
		var inner []slack.RichTextSectionElement
		switch e := e.(type) {
		case *slack.RichTextSection:
			inner = e.Elements
		case *slack.RichTextPreformatted:
			inner = e.Elements
		}
		for _, s := range inner {
			switch s := s.(type) {
			case *slack.RichTextSectionTextElement:
				b.WriteString(s.Text)
			case *slack.RichTextSectionLinkElement:
				b.WriteString(s.Text)
			case *slack.RichTextSectionUserElement:
				b.WriteString("<@" + s.UserID + ">")
			}
		}
	}
	return b.String()
}
