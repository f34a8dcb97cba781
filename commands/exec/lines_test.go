package exec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/commands/exec"
)

// body is a line whose message has one block, as JSON.
func body(block string) string {
	return `{"message":{"title":[{"text":"t"}],"blocks":[` + block + `]}}`
}

// repeated is a JSON list of the same n times.
func repeated(of string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(of+",", n), ",") + "]"
}

func TestALineThatIsWrongIsToldByFieldAndValue(t *testing.T) {
	for line, says := range map[string]string{
		`[]`:           `"[]" is no JSON object`,
		`{}`:           "this one says 0 of them",
		`{"say":"hi"}`: `unknown field "say"`,
		`{"message":{"title":[{"text":"a"}]},"progress":{"title":[{"text":"a"}]}}`: "this one says 2 of them",
		`{"message":{}}`:                                                                            "message.title: a message needs one",
		`{"message":{"title":[{"text":" "}]}}`:                                                      "message.title: a message needs one",
		`{"message":{"title":"hello"}}`:                                                             "message.title: a string does not belong there",
		`{"message":{"title":[{"text":"a"}],"status":"green"}}`:                                     `message.status "green": must be working, done`,
		`{"message":{"title":[{"text":"a"}],"kind":"promote.done"}}`:                                `message.kind "promote.done": must be lower-case words`,
		`{"message":{"title":[{"kind":"mention","text":"Ada","user":"10"}]}}`:                       `message.title[0].kind "mention": a program mentions nobody`,
		`{"message":{"title":[{"kind":"topic","stream":"shop","text":"x"}]}}`:                       `message.title[0].kind "topic"`,
		`{"message":{"title":[{"kind":"html","text":"x"}]}}`:                                        `message.title[0].kind "html": must be text, bold, code or link`,
		`{"message":{"title":[{"kind":"link","text":"x","url":"javascript:alert(1)"}]}}`:            `message.title[0].url "javascript:alert(1)": must begin with http`,
		`{"message":{"title":[{"kind":"link","text":"x","url":"https://"}]}}`:                       "name a host",
		`{"message":{"title":[{"kind":"link","text":"x","url":"https://a:b@c.test"}]}}`:             "name a host",
		`{"message":{"title":[{"text":"` + strings.Repeat("x", 4001) + `"}]}}`:                      "message.title[0].text: it has 4001 characters; there may be 4000",
		`{"message":{"title":` + repeated(`{"text":"x"}`, 201) + `}}`:                               "message.title: there are 201; there may be 200",
		body(`{"kind":"actions","buttons":[{"text":"Go","value":"x"}]}`):                            `message.blocks[0].kind "actions": a program's message has no buttons`,
		body(`{"kind":"picture"}`):                                                                  `message.blocks[0].kind "picture": must be text, list`,
		body(`{"kind":"code","lang":"go\n","lines":[]}`):                                            `message.blocks[0].lang "go\n"`,
		body(`{"kind":"code","lines":` + repeated(`"x"`, 1001) + `}`):                               "message.blocks[0].lines: there are 1001",
		body(`{"kind":"table","rows":[]}`):                                                          "message.blocks[0].header: a table needs one",
		body(`{"kind":"table","header":["a","b"],"rows":[[[{"text":"1"}]]]}`):                       "message.blocks[0].rows[0]: it has 1 cells; there must be 2",
		body(`{"kind":"fields","fields":[{"name":"a","value":[{"kind":"mention","text":"x"}]}]}`):   "message.blocks[0].fields[0].value[0].kind",
		body(`{"kind":"spoiler","blocks":[{"kind":"spoiler"}]}`):                                    "message.blocks[0].blocks[0]: a spoiler within a spoiler",
		body(strings.TrimSuffix(strings.Repeat(`{"kind":"text"},`, 51), ",")):                       "message.blocks: a message has at most 50 blocks",
		`{"progress":{"title":[{"kind":"mention","text":"x"}]}}`:                                    "progress.title[0].kind",
		`{"post":{"key":"","place":{"stream":"a","topic":"b"},"message":{"title":[{"text":"x"}]}}}`: `post.key "": must be one line of 1 to 60`,
		`{"post":{"key":"a","place":{"stream":"a"},"message":{"title":[{"text":"x"}]}}}`:            `post.place.topic "": must be one line`,
		`{"post":{"key":"a","place":{"direct":"10"},"message":{"title":[{"text":"x"}]}}}`:           `unknown field "direct"`,
		`{"post":{"key":"a","place":{"stream":"a","topic":"b"},"message":{}}}`:                      "post.message.title",
		`{"call":{"verb":"promote shop"}}`:                                                          `call.verb "promote shop": must be a lower-case word`,
		`{"call":{"verb":"promote","args":` + repeated(`"x"`, 51) + `}}`:                            "call.args: there are 51",
		`{"call":{"verb":"promote","args":["` + strings.Repeat("x", 4000) + `"]}}`:                  "call.args: they have 4008 characters",
	} {
		_, err := exec.ParseLine([]byte(line), "report")
		assert.ErrorContains(t, err, says, "%.120s", line)
	}
}

// whole is a message with every block that a program may say.
const whole = `{"message":{"kind":"whole","status":"notice","title":[{"kind":"text","text":"Report of "},{"kind":"bold","text":"shop"}],"blocks":[
{"kind":"text","spans":[{"kind":"text","text":"@**all** see "},{"kind":"link","text":"the report","url":"https://report.test/1"},{"kind":"foreign","text":", *or not*"}]},
{"kind":"list","rows":[[[{"text":"one"}]],[[{"kind":"code","text":"two"}]]]},
{"kind":"fields","fields":[{"name":"builds","value":[{"text":"7"}]}]},
{"kind":"table","header":["component","builds"],"rows":[[[{"text":"shop-web"}],[{"text":"7"}]]]},
{"kind":"code","lang":"sh","lines":["echo hello"]},
{"kind":"log","spans":[{"text":"The log:"}],"lines":["@**all** failed"]},
{"kind":"spoiler","spans":[{"text":"more"}],"blocks":[{"kind":"text","spans":[{"text":"less"}]}]}]}}`

func TestAProgramsMessageIsShownLikeAnyOther(t *testing.T) {
	l, err := exec.ParseLine([]byte(whole), "report")
	require.NoError(t, err)
	require.Len(t, l.Message.Blocks, 7)
	commandstest.Golden(t, goldens+"/external", "whole", *l.Message)
}

// FuzzLine holds that no line breaks the reader, and that what it takes is tame:
// no mention, no button, addresses of the web alone, all texts foreign, and read
// again it is the same.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{whole, `{"call":{"verb":"promote","args":["shop"]}}`, body(`{"kind":"code","lang":"go","lines":["x"]}`),
		`{"post":{"key":"a","place":{"stream":"a","topic":"b"},"message":{"title":[{"kind":"mention","text":"x","user":"1"}]}}}`,
		`{"progress":{"title":[{"kind":"link","text":"x","url":"HTTP://a/\u0000"}]}}`, `{"MESSAGE":{"title":[{"text":"\ud800"}]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := exec.ParseLine(text, "report")
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("an error without words")
			}
			return
		}
		for _, m := range []*markup.Message{l.Message, l.Progress} {
			if m == nil {
				continue
			}
			tame(t, *m)
			again := *m
			again.Kind = strings.TrimPrefix(strings.TrimPrefix(m.Kind, "external.report"), ".")
			line, err := json.Marshal(exec.Line{Message: &again})
			require.NoError(t, err)
			line = []byte(strings.NewReplacer(`,"progress":null`, "", `,"post":null`, "", `,"call":null`, "").Replace(string(line)))
			back, err := exec.ParseLine(line, "report")
			if err != nil && len(line) < 64<<10 {
				t.Fatalf("%s: %v", line, err)
			}
			if err == nil {
				require.Equal(t, markup.Plain(*m), markup.Plain(*back.Message))
			}
		}
	})
}

// tame fails for a message that could mention, press or lead into the chat.
func tame(t *testing.T, m markup.Message) {
	t.Helper()
	text, err := json.Marshal(m)
	require.NoError(t, err)
	var document any
	require.NoError(t, json.Unmarshal(text, &document))
	walk(document, func(o map[string]any) {
		switch kind := fmt.Sprint(o["kind"]); kind {
		case "mention", "topic", "actions", string(markup.SpanText):
			if _, block := o["spans"]; !block && o["text"] != nil || kind != "text" {
				t.Fatalf("it is not tame: %v", o)
			}
		case "link":
			if url := fmt.Sprint(o["url"]); !strings.HasPrefix(strings.ToLower(url), "http://") && !strings.HasPrefix(strings.ToLower(url), "https://") {
				t.Fatalf("it leads out of the web: %v", o)
			}
		}
	})
}

// walk visits every object of a document.
func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, inner := range v {
			walk(inner, visit)
		}
	case []any:
		for _, inner := range v {
			walk(inner, visit)
		}
	}
}
