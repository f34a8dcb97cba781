package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/announcer"
	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/bots/slack"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/commands/exec"
	"platform.dev/platform/commands/platform"
	"platform.dev/platform/commands/walkthrough"
)

// speakers are the packages that say something in chat: where their sources
// are, below the repository's root, and one sample of each kind of message.
var speakers = []struct {
	dir     string
	golden  string // directory below fixtures/golden
	samples func() []markup.Message
}{
	{"commands", "messages", commands.Catalogue},
	{"commands/exec", "messages", exec.Catalogue},
	{"commands/platform", "messages", platform.Catalogue},
	{"commands/walkthrough", "messages", walkthrough.Catalogue},
	{"announcer", "messages", announcer.Catalogue},
	{"bots", "bots", bots.Catalogue},
	{"bots/slack", "slack", slack.Catalogue},
}

func TestEveryMessageKindHasAGoldenInEachRenderingAndEveryGoldenAProducer(t *testing.T) {
	byDir := map[string][]markup.Message{}
	said := map[string]string{}
	for _, s := range speakers {
		for _, m := range s.samples() {
			assert.Empty(t, said[m.Kind], "%s is said by %s, and by %s", m.Kind, said[m.Kind], s.dir)
			said[m.Kind] = s.dir
			byDir[s.golden] = append(byDir[s.golden], m)
		}
	}
	for dir, samples := range byDir {
		path := filepath.Join("..", "fixtures", "golden", dir)
		commandstest.Catalogue(t, path, samples)
		commandstest.Complete(t, path, samples)
	}
	assert.GreaterOrEqual(t, len(said), 80)
}

// TestNoMessageKindIsMissingFromItsCatalogue reads the sources: a kind that
// stands there as a literal must have its sample. Kinds that are put together
// (a verb or an event's kind with an ending) come from tables, which the
// catalogues go through.
func TestNoMessageKindIsMissingFromItsCatalogue(t *testing.T) {
	found := 0
	for _, s := range speakers {
		known, roots := map[string]bool{}, map[string]bool{}
		for _, m := range s.samples() {
			known[m.Kind] = true
			root, _, _ := strings.Cut(m.Kind, ".")
			roots[root] = true
		}
		files, err := filepath.Glob(filepath.Join("..", s.dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			require.NoError(t, err)
			for _, kind := range kindsIn(file, roots) {
				found++
				assert.True(t, known[kind], "%s says %q, which has no sample", name, kind)
			}
		}
	}
	assert.Greater(t, found, 30, "kinds that stand in the sources as literals")
}

// makesMessages tells whether a file writes a message of its own: a literal markup.Message with a kind.
func makesMessages(file *ast.File) (makes bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		of, ok := literal.Type.(*ast.SelectorExpr)
		if !ok || of.Sel.Name != "Message" {
			return true
		}
		if from, ok := of.X.(*ast.Ident); ok && from.Name == "markup" && len(literal.Elts) > 0 {
			makes = true
		}
		return true
	})
	return makes
}

// kindsIn are the message kinds that a file gives as literals: a field or an
// assignment Kind whose value has a dot, or an argument that begins as a kind does.
func kindsIn(file *ast.File, roots map[string]bool) (kinds []string) {
	add := func(value ast.Expr) {
		literal, ok := value.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return
		}
		if text, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(text, ".") && !strings.HasPrefix(text, ".") {
			kinds = append(kinds, text)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr: // a kind that is handed to what makes the message
			for _, arg := range n.Args {
				literal, ok := arg.(*ast.BasicLit)
				if !ok || !dotted.MatchString(strings.Trim(literal.Value, `"`)) {
					continue
				}
				if root, _, _ := strings.Cut(strings.Trim(literal.Value, `"`), "."); roots[root] {
					add(arg)
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Kind" {
				add(n.Value)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if field, ok := left.(*ast.SelectorExpr); ok && field.Sel.Name == "Kind" && i < len(n.Rhs) {
					add(n.Rhs[i])
				}
			}
		}
		return true
	})
	return kinds
}
