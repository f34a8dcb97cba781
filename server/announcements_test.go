package server

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestAPushOfTwoComponentsIsOneMessageInTheOperatorsWords(t *testing.T) {
	words := t.TempDir()
	for name, text := range map[string]string{
		"build.several.yaml":      `title: "Push *{{short .Body.Commit}}* has {{len .Body.Builds}} builds"`,
		"project.scaffolded.yaml": `skip: true`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(words, name), []byte(text), 0o600))
	}
	cfg := config(t, t.TempDir())
	cfg.Announcements = words
	p := start(t, cfg)
	p.scaffold("shop")
	p.withService()
	files := maps.Clone(serviceFiles(t, "one"))
	files["index.html"] = strings.Replace(repositoryFile(t, "index.html"), "<h1>", "<h1>Both ", 1)
	both, err := p.Flow().Commit(t.Context(), flowclient.CommitRequest{
		Origin: flowclient.Origin{Key: "test:both", Who: "developer"}, Project: "shop", Message: "Change both", Files: files,
	})
	require.NoError(t, err)
	of := func() (told []string) {
		for _, m := range p.read("shop", "builds") {
			if strings.Contains(m.Content, flowclient.ShortSHA(both.SHA)) {
				told = append(told, m.Content)
			}
		}
		return told
	}
	p.eventually(time.Minute, "the end of both builds", func() bool {
		told := strings.Join(of(), "\n")
		return strings.Contains(told, "✅") && strings.Contains(told, "has 2 builds")
	})
	told := of()
	require.Len(t, told, 1)
	assert.NotContains(t, told[0], "*"+flowclient.ShortSHA(both.SHA)+"* has", "a template is no Markdown")
	for _, m := range p.read("shop", "builds") {
		assert.NotContains(t, m.Content, "was made by", "what is skipped is not told")
	}
}
