package botstest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"platform.dev/platform/bots/markup"
)

// Slack's limits of blocks.
const (
	slackBlockLimit   = 50
	slackSectionLimit = 3_000
	slackHeaderLimit  = 150
	slackFieldLimit   = 2_000
	slackActionLimit  = 25
	slackButtonLimit  = 75
	slackValueLimit   = 2_000
	slackTableRows    = 100
	slackTableColumns = 20
	slackTableText    = 10_000
	slackChildLimit   = 10
	slackBlocksLimit  = 13_000 // characters of the blocks' JSON; Slack documents no figure
)

// slackBlock is what is checked of a block.
type slackBlock struct {
	Type     string            `json:"type"`
	Text     *slackText        `json:"text"`
	Fields   []slackText       `json:"fields"`
	Elements []json.RawMessage `json:"elements"`
	Rows     [][]any           `json:"rows"`
	Columns  []any             `json:"column_settings"`
	Title    *slackText        `json:"title"`
	Children []slackBlock      `json:"child_blocks"`
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// checkBlocks finds what Slack would refuse in blocks, in an old workspace or a
// newer one. faults are its sentences.
func checkBlocks(raw json.RawMessage, old bool) (faults []string, code string) {
	var blocks []slackBlock
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return nil, "invalid_blocks_format"
	}
	if len(raw) > slackBlocksLimit && asciiLength(raw) > slackBlocksLimit {
		return nil, "msg_blocks_too_long"
	}
	if len(blocks) > slackBlockLimit {
		faults = append(faults, fmt.Sprintf("[ERROR] no more than %d items allowed [json-pointer:/blocks]", slackBlockLimit))
	}
	tables := 0
	for i, b := range blocks {
		if wrong := b.wrong(old); wrong != "" {
			faults = append(faults, fmt.Sprintf("[ERROR] %s [json-pointer:/blocks/%d]", wrong, i))
		}
		if b.Type == "table" {
			tables++
		}
	}
	if tables > 1 {
		faults = append(faults, "[ERROR] only one table allowed [json-pointer:/blocks]")
	}
	if len(faults) > 0 {
		return faults, "invalid_blocks"
	}
	return nil, ""
}

// wrong is what Slack would refuse a block for, "" for nothing.
func (b slackBlock) wrong(old bool) string {
	if old && (b.Type == "table" || b.Type == "rich_text" || b.Type == "container") {
		return "unsupported type: " + b.Type
	}
	switch b.Type {
	case "section":
		if b.Text == nil && len(b.Fields) == 0 {
			return "missing required field: text"
		}
		if wrong := fits(b.Text, slackSectionLimit); wrong != "" {
			return wrong
		}
		if len(b.Fields) > 10 {
			return "no more than 10 items allowed"
		}
		for _, f := range b.Fields {
			if wrong := fits(&f, slackFieldLimit); wrong != "" {
				return wrong
			}
		}
	case "header":
		if b.Text == nil || b.Text.Type != "plain_text" {
			return "must be plain_text"
		}
		return fits(b.Text, slackHeaderLimit)
	case "context":
		if len(b.Elements) == 0 || len(b.Elements) > 10 {
			return "from 1 to 10 items allowed"
		}
		for _, raw := range b.Elements {
			var e slackText
			if err := json.Unmarshal(raw, &e); err != nil || e.Type != "mrkdwn" && e.Type != "plain_text" {
				return "unsupported element"
			}
			if wrong := fits(&e, slackSectionLimit); wrong != "" {
				return wrong
			}
		}
	case "actions":
		return b.wrongActions()
	case "table":
		return b.wrongTable()
	case "rich_text":
		if len(b.Elements) == 0 {
			return "missing required field: elements"
		}
	case "container":
		return b.wrongContainer()
	case "divider", "markdown":
	default:
		return "unsupported type: " + b.Type
	}
	return ""
}

// wrongTable is what Slack would refuse a table for.
func (b slackBlock) wrongTable() string {
	if len(b.Rows) == 0 || len(b.Rows) > slackTableRows || len(b.Columns) > slackTableColumns {
		return "invalid table size"
	}
	for _, row := range b.Rows {
		if len(row) == 0 || len(row) > slackTableColumns || len(row) != len(b.Rows[0]) {
			return "invalid table size"
		}
	}
	if shown, _ := shownBlocks(slackJSON([]any{answer{"rows": b.Rows}})); utf8.RuneCountInString(shown) > slackTableText {
		return "table text too long"
	}
	return ""
}

// wrongContainer is what Slack would refuse a container for: a title, and from one
// to ten blocks that are none of the larger kinds.
func (b slackBlock) wrongContainer() string {
	if b.Title == nil || b.Title.Type != "plain_text" {
		return "must be plain_text"
	}
	if wrong := fits(b.Title, slackHeaderLimit); wrong != "" {
		return wrong
	}
	if len(b.Children) == 0 || len(b.Children) > slackChildLimit {
		return "from 1 to 10 items allowed"
	}
	for _, child := range b.Children {
		if child.Type == "container" || child.Type == "table" || child.Type == "rich_text" {
			return "unsupported type: " + child.Type
		}
		if wrong := child.wrong(false); wrong != "" {
			return wrong
		}
	}
	return ""
}

// asciiLength is the length of JSON in which everything beyond ASCII is escaped, and nothing else that need not be.
func asciiLength(raw json.RawMessage) int {
	n := 0
	for _, r := range slackPlainly.Replace(string(raw)) {
		if r < 0x80 {
			n++
		} else {
			n += 6 * utf16.RuneLen(r)
		}
	}
	return n
}

var slackPlainly = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// wrongActions is what Slack would refuse a row of buttons for.
func (b slackBlock) wrongActions() string {
	if len(b.Elements) == 0 || len(b.Elements) > slackActionLimit {
		return "from 1 to 25 items allowed"
	}
	ids := map[string]bool{}
	for _, raw := range b.Elements {
		var e slackButton
		if err := json.Unmarshal(raw, &e); err != nil || e.Type != "button" {
			return "unsupported element"
		}
		if wrong := fits(&e.Text, slackButtonLimit); wrong != "" {
			return wrong
		}
		switch {
		case len(e.Value) > slackValueLimit:
			return "must be less than 2001 characters"
		case e.Style != "" && e.Style != "primary" && e.Style != "danger":
			return "unknown style"
		case e.ActionID != "" && ids[e.ActionID]:
			return "duplicate action_id"
		}
		ids[e.ActionID] = true
	}
	return ""
}

type slackButton struct {
	Type     string    `json:"type"`
	ActionID string    `json:"action_id"`
	BlockID  string    `json:"block_id"`
	Value    string    `json:"value"`
	Style    string    `json:"style"`
	Text     slackText `json:"text"`
}

// fits tells what is wrong with a text's length.
func fits(t *slackText, limit int) string {
	if t == nil {
		return ""
	}
	switch n := len(utf16.Encode([]rune(t.Text))); {
	case n == 0:
		return "must be more than 0 characters"
	case n > limit:
		return fmt.Sprintf("must be less than %d characters", limit+1)
	}
	return ""
}

// shownBlocks is what people read of blocks, one text a line, and the values of their buttons.
func shownBlocks(raw json.RawMessage) (shown string, buttons []string) {
	if len(raw) == 0 {
		return "", nil
	}
	var blocks []any
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return "", nil
	}
	var lines []string
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, inner := range v {
				visit(inner)
			}
		case map[string]any:
			if v["type"] == "button" {
				if value, ok := v["value"].(string); ok {
					buttons = append(buttons, value)
				}
				return
			}
			for _, name := range []string{"text", "fields", "elements", "rows", "title", "blocks", "child_blocks"} {
				if text, ok := v[name].(string); ok {
					lines = append(lines, text)
					continue
				}
				visit(v[name])
			}
		}
	}
	visit(blocks)
	return strings.Join(lines, "\n"), buttons
}

// SlackRefusal is what a workspace would refuse a message for that a renderer made,
// old (SlackConfig.Old) or not; "" for nothing.
func SlackRefusal(m markup.SlackMessage, old bool) string {
	switch {
	case m.Text == "" && len(m.Blocks) == 0:
		return "no_text"
	case len(m.Text) > slackEditLimit:
		return "msg_too_long"
	}
	faults, code := checkBlocks(slackJSON(m.Blocks), old)
	return strings.Join(append(faults, code), "\n")
}

// SlackRead is what people read of a message that a renderer made.
func SlackRead(m markup.SlackMessage) string {
	shown, _ := shownBlocks(slackJSON(m.Blocks))
	if shown == "" {
		shown = m.Text
	}
	return slackUnescape.Replace(shown)
}

// SlackTyped is a text as Slack's clients send what somebody typed.
func SlackTyped(text string) string { return slackEscape.Replace(text) }

var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
