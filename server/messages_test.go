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
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
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
	{"commands/platform", "messages", platform.Catalogue},
	{"commands/walkthrough", "messages", walkthrough.Catalogue},
	{"announcer", "messages", announcer.Catalogue},
	{"bots", "bots", bots.Catalogue},
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
		known := map[string]bool{}
		for _, m := range s.samples() {
			known[m.Kind] = true
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
			for _, kind := range kindsIn(file) {
				found++
				assert.True(t, known[kind], "%s says %q, which has no sample", name, kind)
			}
		}
	}
	assert.Greater(t, found, 30, "kinds that stand in the sources as literals")
}

// kindsIn are the message kinds that a file gives as literals: a field or an assignment Kind whose value has a dot.
func kindsIn(file *ast.File) (kinds []string) {
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
