// Package markup is the message document: what a bot says, as a value, before
// any chat renders it. A Message is plain data (it survives JSON unchanged, so
// that an outbox can keep it), built from spans that say whether a text is
// ours or foreign. Renderers turn it into Zulip Markdown, Slack Block Kit,
// terminal text and plain text, each within its chat's limits, and none of
// them lets a foreign text mention, link or format.
//
// It knows nothing of commands, bots, transports or delivery.
package markup

// Status is how a message stands; renderers show it as a mark before the title.
type Status string

// The statuses of a message. The zero value shows no mark.
const (
	None    Status = ""
	Working Status = "working" // work is under way; the message will be edited
	Done    Status = "done"    // what was asked has happened
	Refused Status = "refused" // a decision against: lock, window, permission
	Failed  Status = "failed"  // something broke, or a build's own tests failed
	Notice  Status = "notice"  // worth knowing, nothing to do
)

// Message is one chat message as a document.
type Message struct {
	Kind   string  `json:"kind"`             // catalogue name such as "promote.done": names its golden file
	Status Status  `json:"status,omitempty"` // mark before the title
	Title  []Span  `json:"title"`            // one line
	Blocks []Block `json:"blocks,omitempty"` // body, in order
}

// SpanKind tells how a span is shown and how far its text is trusted.
type SpanKind string

// The kinds of spans.
const (
	SpanText    SpanKind = "text"    // our own words
	SpanForeign SpanKind = "foreign" // a person's or a program's words: shown literally, defused
	SpanBold    SpanKind = "bold"    // our own or foreign words with emphasis; treated as foreign
	SpanCode    SpanKind = "code"    // an identifier, a SHA, a command; treated as foreign
	SpanLink    SpanKind = "link"    // Text over URL; the text is treated as foreign, the URL must be http(s)
	SpanMention SpanKind = "mention" // a person by the chat's own user id; Text is the fallback name
	SpanTopic   SpanKind = "topic"   // the topic Text of the stream Stream, as a link where the chat has such links
)

// Span is a run of text within a line.
type Span struct {
	Kind SpanKind `json:"kind"`
	Text string   `json:"text"`
	URL  string   `json:"url,omitempty"`  // SpanLink
	User string   `json:"user,omitempty"` // SpanMention: the chat's user id

	Stream string `json:"stream,omitempty"` // SpanTopic: the stream's name
}

// T is a span of our own words.
func T(text string) Span { return Span{Kind: SpanText, Text: text} }

// F is a span of foreign words: a commit subject, a lock's reason, a name typed by a person.
func F(text string) Span { return Span{Kind: SpanForeign, Text: text} }

// B is an emphasised span.
func B(text string) Span { return Span{Kind: SpanBold, Text: text} }

// C is a code span.
func C(text string) Span { return Span{Kind: SpanCode, Text: text} }

// L is a link span.
func L(text, url string) Span { return Span{Kind: SpanLink, Text: text, URL: url} }

// M mentions the person with the chat's user id; name is shown where the chat cannot mention.
func M(user, name string) Span { return Span{Kind: SpanMention, Text: name, User: user} }

// P names a topic of a stream, as a link where the chat has such links.
func P(stream, topic string) Span { return Span{Kind: SpanTopic, Text: topic, Stream: stream} }

// Spans collects spans into one line.
func Spans(spans ...Span) []Span { return spans }

// BlockKind names the form of a block.
type BlockKind string

// The kinds of blocks, each with the fields of Block that it reads.
const (
	BlockText    BlockKind = "text"    // Spans
	BlockList    BlockKind = "list"    // Rows: one item each, Rows[i][0]
	BlockFields  BlockKind = "fields"  // Fields
	BlockTable   BlockKind = "table"   // Header, Rows
	BlockCode    BlockKind = "code"    // Lang, Lines
	BlockLog     BlockKind = "log"     // Spans (caption), Lines: program output, always foreign
	BlockSpoiler BlockKind = "spoiler" // Spans (header), Blocks: folded away until opened
	BlockActions BlockKind = "actions" // Buttons: shown where the chat has them, and nothing elsewhere
)

// Block is one piece of a message's body. Build it with the functions below.
type Block struct {
	Kind   BlockKind  `json:"kind"`
	Spans  []Span     `json:"spans,omitempty"`
	Fields []Field    `json:"fields,omitempty"`
	Header []string   `json:"header,omitempty"`
	Rows   [][][]Span `json:"rows,omitempty"` // rows, cells, spans
	Lang   string     `json:"lang,omitempty"`
	Lines  []string   `json:"lines,omitempty"`
	Blocks []Block    `json:"blocks,omitempty"`

	Buttons []Button `json:"buttons,omitempty"`
}

// ButtonStyle is how much a button stands out.
type ButtonStyle string

// The styles of a button. The zero value is an ordinary one.
const (
	Primary ButtonStyle = "primary" // what the message expects
	Danger  ButtonStyle = "danger"  // what cannot be taken back
)

// Button is something to press under a message. A chat without buttons shows
// none, so the message's own words must say how to answer otherwise.
type Button struct {
	Text  string      `json:"text"`            // 1 to 75 code points, treated as foreign; a longer one ends in an ellipsis
	Value string      `json:"value"`           // what pressing it says: opaque, 1 to 100 bytes; a button with another is left out
	Style ButtonStyle `json:"style,omitempty"` // "", Primary or Danger
}

// Field is a name with a value on one line.
type Field struct {
	Name  string `json:"name"`
	Value []Span `json:"value"`
}

// Text is a paragraph.
func Text(spans ...Span) Block { return Block{Kind: BlockText, Spans: spans} }

// List is a bulleted list of lines.
func List(items ...[]Span) Block {
	b := Block{Kind: BlockList}
	for _, item := range items {
		b.Rows = append(b.Rows, [][]Span{item})
	}
	return b
}

// Fields is a list of named values.
func Fields(fields ...Field) Block { return Block{Kind: BlockFields, Fields: fields} }

// Named is one field.
func Named(name string, value ...Span) Field { return Field{Name: name, Value: value} }

// Table is a table; every row has as many cells as the header.
func Table(header []string, rows ...[][]Span) Block {
	return Block{Kind: BlockTable, Header: header, Rows: rows}
}

// Code is literal text in a language ("" for none).
func Code(lang string, lines ...string) Block {
	return Block{Kind: BlockCode, Lang: lang, Lines: lines}
}

// Log is an excerpt of a program's output under a caption.
func Log(caption []Span, lines []string) Block {
	return Block{Kind: BlockLog, Spans: caption, Lines: lines}
}

// Spoiler folds blocks away under a header.
func Spoiler(header []Span, blocks ...Block) Block {
	return Block{Kind: BlockSpoiler, Spans: header, Blocks: blocks}
}

// Actions is a row of buttons. It must not be the only place that tells how to answer.
func Actions(buttons ...Button) Block { return Block{Kind: BlockActions, Buttons: buttons} }
