package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// TestEveryKindOfDecisionOfBotsIsInTheTrail reads the kinds where bots name them.
func TestEveryKindOfDecisionOfBotsIsInTheTrail(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../bots/audit.go", nil, 0)
	require.NoError(t, err)
	kinds := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Decided") {
			return true
		}
		kind, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		assert.Contains(t, flowclient.AuditKinds(), kind)
		kinds++
		return true
	})
	assert.Positive(t, kinds)
}
