package announcer

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// files is a directory of templates: names and texts in turn.
func files(pairs ...string) fstest.MapFS {
	dir := fstest.MapFS{}
	for i := 0; i+1 < len(pairs); i += 2 {
		dir[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return dir
}

// worded makes an announcer with an operator's words.
func worded(t *testing.T, m *memory, pairs ...string) *Announcer {
	t.Helper()
	a := announcing(t, m, noon)
	var err error
	a.cfg.Templates, err = ReadTemplates(files(pairs...))
	require.NoError(t, err)
	return a
}

func TestAnOperatorsWordsStandInPlaceOfOurs(t *testing.T) {
	const body = `{{with .Body.Build}}{{bold .Component}} broke at {{code (short .Commit)}}
after {{took .StartedAt .CompletedAt}}.{{end}}

{{range .Body.Build.Stages}}
- {{code .Name}}: {{if eq .Phase "Failed"}}broken{{else}}{{.Phase}}{{end}}
{{end}}
Said by {{mention .Body.Author}} at {{at .At}}: {{.Body.Subject}} ({{link "the page" .Body.Build.URL}}).

{{builtin}}
`
	m := newMemory()
	a := worded(t, m,
		"build.failed.yaml", "title: 'Oh dear: {{.Project}} *and* {{.Body.Subject}}'\nbody: |\n  "+strings.ReplaceAll(body, "\n", "\n  ")+"\n",
		"lock.set.yaml", "skip: true\n", ".build.failed.yaml.swp", "\x00")
	m.happen(samples(t)["build-failed"])
	m.happen(samples(t)["lock-set"])
	require.NoError(t, a.pass(t.Context()))
	require.Len(t, m.rows, 1, "what is skipped is not told")
	assert.Equal(t, markup.Failed, m.rows[0].message.Status, "how it stands is not a matter of words")
	golden(t, "template-build-failed", m.rows[0].message)
}

// What is not told together is told one by one, and ends as what it has become.
func TestWithoutTheMessageOfSeveralEachGoesOnInItsOwn(t *testing.T) {
	m := newMemory()
	a := worded(t, m, "build.several.yaml", "skip: true\n", "lock.several.yaml", "skip: true\n")
	a.cfg.Now = func() time.Time { return noon.Add(time.Minute) }
	second := samples(t)["lock-set"]
	second.Key = "lock/2/set"
	for _, e := range []flowclient.Event{
		built(t, flowclient.EventBuildStarted, "shop-web", "web-1", 0), built(t, flowclient.EventBuildStarted, "shop-api", "api-1", time.Second),
		built(t, flowclient.EventBuildPassed, "shop-web", "web-1", 10*time.Second), built(t, flowclient.EventBuildFailed, "shop-api", "api-1", 20*time.Second),
		samples(t)["lock-set"], second,
	} {
		m.happen(e)
		require.NoError(t, a.pass(t.Context()))
	}
	var told []string
	for _, r := range m.rows {
		told = append(told, r.key+" "+r.message.Kind)
	}
	assert.Equal(t, []string{
		"announce/build/web-1 announce.build.passed", "announce/build/api-1 announce.build.failed",
		"announce/lock/1/set announce.lock.set", "announce/lock/2/set announce.lock.set",
	}, told)
}

func TestAPullRequestThatMovesIsToldInTheWordsForOneThatIsOpen(t *testing.T) {
	s := samples(t)
	for words, want := range map[string]string{"title: 'Look at {{.Body.Pull.Title}}'": "Look at say hello to nobody", "skip: true": ""} {
		m := newMemory()
		a := worded(t, m, "pull.opened.yaml", words)
		for _, name := range []string{"pull-opened", "pull-updated"} {
			m.happen(s[name])
		}
		require.NoError(t, a.pass(t.Context()))
		if want == "" {
			assert.Empty(t, m.rows)
			continue
		}
		require.Len(t, m.rows, 1)
		assert.Contains(t, markup.Plain(m.rows[0].message), want)
	}
	_, err := ReadTemplates(files("pull.updated.yaml", "skip: true"))
	require.ErrorContains(t, err, "is the file of no announcement")
}

func TestTheREADMEShowsATemplateThatIsRead(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(readme), "### Your own words")
	require.True(t, found)
	_, shown, _ = strings.Cut(shown, "```yaml\n")
	shown, _, _ = strings.Cut(shown, "```")
	m := newMemory()
	a := worded(t, m, "build.failed.yaml", shown)
	m.happen(samples(t)["build-failed"])
	require.NoError(t, a.pass(t.Context()))
	told := markup.Plain(m.rows[0].message)
	assert.Contains(t, told, "shop-web broke")
	assert.Contains(t, told, "look at 1a2b3c4: say hello")
	assert.Contains(t, told, "line 60", "and what we would have said")
}

func TestSeveralBuildsHaveWordsOfTheirOwn(t *testing.T) {
	m := newMemory()
	a := worded(t, m, "build.several.yaml", `title: "{{.Project}}: {{len .Body.Builds}} builds"`, "build.started.yaml", `title: "one"`)
	m.happen(built(t, flowclient.EventBuildStarted, "shop-web", "web-1", 0))
	require.NoError(t, a.pass(t.Context()))
	assert.Contains(t, markup.Plain(m.rows[0].message), "one")
	m.happen(built(t, flowclient.EventBuildStarted, "shop-api", "api-1", 0))
	require.NoError(t, a.pass(t.Context()))
	require.Len(t, m.rows, 1)
	assert.Contains(t, markup.Plain(m.rows[0].message), "shop: 2 builds")
}

func TestAWrongTemplateIsRefusedWithFileLineAndField(t *testing.T) {
	for _, tc := range []struct{ name, file, text, want string }{
		{"a field that is not there", "build.failed.yaml", "# words\nbody: |\n  one\n  {{.Body.Build.Comit}}\n", "build.failed.yaml:4: body: .Body.Build.Comit: can't evaluate field Comit in type flowclient.Build"},
		{"in a branch that is seldom taken", "build.failed.yaml", "title: '{{if .Project}}{{if not .Component}}{{.Nothing}}{{end}}{{end}}'", "build.failed.yaml:1: title: .Nothing: can't evaluate field Nothing in type announcer.About"},
		{"in the else of a range", "build.failed.yaml", "title: '{{range .Body.Lines}}x{{else}}{{.Nothing}}{{end}}'", "build.failed.yaml:1: title: .Nothing: can't evaluate field Nothing in type announcer.About"},
		{"after a break", "build.failed.yaml", "title: '{{range .Body.Lines}}{{break}}{{.Nothing}}{{end}}'", "build.failed.yaml:1: title: .Nothing: can't evaluate field Nothing in type string"},
		{"behind an or", "build.failed.yaml", "title: '{{or .Project .Nothing}}'", "build.failed.yaml:1: title: .Nothing: can't evaluate field Nothing in type announcer.About"},
		{"behind an and", "build.failed.yaml", "title: '{{if and (not .Project) .Nothing}}x{{end}}'", "build.failed.yaml:1: title: .Nothing: can't evaluate field Nothing in type announcer.About"},
		{"a field of another kind's body", "lock.set.yaml", "title: '{{.Body.Build}}'", "lock.set.yaml:1: title: .Body.Build: can't evaluate field Build in type flowclient.LockEvent"},
		{"a function that is not there", "lock.set.yaml", "\n\ntitle: '{{shout .Project}}'", `lock.set.yaml:3: title: function "shout" not defined`},
		{"a template that does not end", "lock.set.yaml", "title: '{{.Project'", "lock.set.yaml:1: title: unclosed action"},
		{"an empty one", "lock.set.yaml", "title: ''", "lock.set.yaml:1: title: it is empty"},
		{"one that defines another", "lock.set.yaml", "body: 'x {{define \"y\"}}y{{end}}'", "lock.set.yaml:1: body: a template defines no other"},
		{"one that calls itself", "lock.set.yaml", "body: 'x {{template \"body\" .}}'", "lock.set.yaml:1: body: a template calls no other"},
		{"one with the mark of a value", "lock.set.yaml", `title: "a\0000\0"`, "lock.set.yaml:1: title: it contains a character that is none"},
		{"builtin in a title", "lock.set.yaml", "title: '{{builtin}}'", "lock.set.yaml: does not fit an ordinary announcement: builtin has no place in a title"},
		{"builtin within a line", "lock.set.yaml", "body: 'and {{builtin}}'", "lock.set.yaml: does not fit an ordinary announcement: builtin stands on a line of its own"},
		{"a form within a form", "lock.set.yaml", "title: '{{bold (code .Project)}}'", "a text with a form cannot be given another"},
		{"too much of it", "lock.set.yaml", "title: '{{range 9000}}xx{{end}}'", "it writes more than 16384 bytes"},
		{"too much of a value", "lock.set.yaml", "title: '{{range 200}}{{printf \"%200d\" 1}}{{end}}'", "more than 16384 bytes of them"},
		{"round and round", "lock.set.yaml", "title: '{{range 2000}}{{range 2000}}{{end}}{{end}}'", "it goes round more than 10000 times"},
		{"a field of the file that is not there", "lock.set.yaml", "title: x\ntittle: y", `lock.set.yaml:2: there is no field "tittle"; there are title, body and skip`},
		{"a field that is there twice", "lock.set.yaml", "title: x\ntitle: y", `lock.set.yaml`},
		{"a list", "lock.set.yaml", "title: [x]", "lock.set.yaml:1: title is one value"},
		{"no decision", "lock.set.yaml", "skip: perhaps", `lock.set.yaml:1: skip is true or false, not "perhaps"`},
		{"both", "lock.set.yaml", "skip: true\ntitle: x", "lock.set.yaml: what is skipped has neither title nor body"},
		{"nothing", "lock.set.yaml", "", "lock.set.yaml: has no fields; there are title, body and skip"},
		{"no YAML", "lock.set.yaml", "title: '", "lock.set.yaml: yaml:"},
		{"a kind that is not there", "lock.sett.yaml", "skip: true", "lock.sett.yaml: is the file of no announcement; there are auto.broken, "},
		{"another ending", "lock.set.yml", "skip: true", "lock.set.yml: is the file of no announcement"},
		{"one that is too large", "lock.set.yaml", strings.Repeat("#", maxTemplate+1), "lock.set.yaml: is larger than 64 KiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ReadTemplates(files(tc.file, tc.text))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestWhatIsNoFileIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "lock.set.yaml"), 0o600))
	_, err := ReadTemplates(os.DirFS(dir))
	require.ErrorContains(t, err, "lock.set.yaml: is no file")
}

func TestWordsThatDoNotFitAnEventLeaveOurs(t *testing.T) {
	m := newMemory()
	a := worded(t, m, "promotion.refused.yaml", "title: '{{.Body.Refusal.Sentence}}'")
	var log bytes.Buffer
	a.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	e := samples(t)["refused"]
	e.Body = []byte(`{"origin":{"who":"developer"}}`)
	m.happen(e)
	require.NoError(t, a.pass(t.Context()))
	require.Len(t, m.rows, 1)
	assert.Contains(t, markup.Plain(m.rows[0].message), "stays as it is")
	assert.Contains(t, log.String(), "does not fit")
}

// echo shows every field of every kind of body.
func echo(t reflect.Type, path string, depth int) (words []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := path + "." + f.Name
		switch {
		case f.Type.Kind() == reflect.String:
			words = append(words, "{{"+at+"}} {{bold "+at+"}} {{code "+at+"}} {{mention "+at+"}} {{printf \"%s\" "+at+"}} {{html "+at+"}}")
		case f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[time.Time]() && depth < 3:
			words = append(words, echo(f.Type, at, depth+1)...)
		default:
			words = append(words, "{{"+at+"}}")
		}
	}
	return words
}

// TestForeignTextStaysForeignInATemplate fills bodies with arbitrary texts, and
// finds none of it among what the template says itself.
func TestForeignTextStaysForeignInATemplate(t *testing.T) {
	const ours = "said by us"
	var written []string
	for _, kind := range kindNames() {
		text, err := json.Marshal(ours + ": {{.Kind}} {{.Project}} " + strings.Join(echo(bodyOf(kind), ".Body", 0), " ") + "\n- " + ours)
		require.NoError(t, err)
		written = append(written, kind+templateEnd, "body: "+string(text))
	}
	templates, err := ReadTemplates(files(written...))
	require.NoError(t, err)
	kindsOf := kindNames()
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom(kindsOf).Draw(rt, "kind")
		foreignText := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"@**all**", "\x000\x00", "\x00", "{{.Project}}", "a\n- b\n\nc", "<!channel>", "```"})).Draw(rt, "text")
		body := reflect.New(bodyOf(kind)).Elem()
		strew(body, foreignText, 0)
		who := func(name string) markup.Span { return markup.M("10", name) }
		m, err := templates.by[kind].write(markup.Message{}, About{Kind: kind, Project: foreignText, Body: body.Interface()}, who)
		if err != nil {
			rt.Fatal(err)
		}
		if len(m.Blocks) != 2 || len(m.Blocks[1].Rows) != 1 {
			rt.Fatalf("a value made blocks: %+v", m.Blocks)
		}
		for _, s := range m.Blocks[0].Spans {
			if s.Kind == markup.SpanText && strings.Trim(s.Text, " ") != "" && s.Text != ours+": " {
				rt.Fatalf("%q stands as our own words", s.Text)
			}
		}
	})
}

// strew puts a text into every string of a value.
func strew(v reflect.Value, text string, depth int) {
	switch {
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() && depth < deepest:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				strew(v.Field(i), text, depth+1)
			}
		}
	}
}

func FuzzATemplateFileIsReadOrRefused(f *testing.F) {
	for _, seed := range []string{"title: '{{.Project}}'", "body: |\n  - {{range .Body.Locks}}{{.Reason}}{{end}}\n  {{builtin}}\n", "skip: true", "title: \"\\0\"", "title: '{{with $x := .Body}}{{$x.Who}}{{end}}'", "title: '{{and .Project (or .X)}}'"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		templates, err := ReadTemplates(files("lock.set.yaml", text))
		if err != nil {
			assert.Contains(t, err.Error(), "lock.set.yaml")
			return
		}
		w := templates.by[flowclient.EventLockSet]
		const hostile = "@**all** *x* \x000\x00"
		m, err := w.write(markup.Message{Title: markup.Spans(markup.T("ours"))}, About{Project: hostile, Body: flowclient.LockEvent{Who: hostile}}, foreign)
		if err != nil {
			return
		}
		visit(m, func(s markup.Span) {
			assert.False(t, s.Kind == markup.SpanText && strings.Contains(s.Text, "\x00"), "%q", s.Text)
		})
	})
}
