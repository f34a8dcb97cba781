package walkthrough_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The walkthrough's pages go through the static template's own programs: what
// the walkthrough expects of the template is what the template does.
func TestThePagesPassTheTemplatesOwnTestsExceptTheBrokenOne(t *testing.T) {
	f := newFlow()
	require.NoError(t, say(t, f, "static").Err)
	pushed := f.sites["static-1"].commits
	require.Len(t, pushed, 4)
	for _, c := range []struct {
		name    string
		page    string // "" for the template's own
		heading string
		fails   string
	}{
		{"the template's page", "", "static-1", ""},
		{"the second page", pushed[1].files["index.html"], "static-1, second edition", ""},
		{"the merged page", pushed[2].files["index.html"], "static-1, third edition", ""},
		{"the broken page", pushed[3].files["index.html"], "", `index.html:14: link "nowhere.html" leads nowhere`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := checkout(t, c.page)
			out, err := program(t, dir, "ci/test.sh")
			if c.fails != "" {
				require.Error(t, err)
				assert.Contains(t, out, c.fails)
				assert.Contains(t, out, "1 faults", "it is the only fault")
				return
			}
			require.NoError(t, err, out)
			out, err = program(t, dir, "ci/build.sh")
			require.NoError(t, err, out)
			built, err := os.Open(filepath.Join(dir, "dist", "index.html"))
			require.NoError(t, err)
			defer built.Close()
			doc, err := goquery.NewDocumentFromReader(built)
			require.NoError(t, err)
			assert.Equal(t, c.heading, doc.Find("h1").Text())
			assert.Equal(t, sha, doc.Find(`meta[name="commit"]`).AttrOr("content", ""))
			assert.Equal(t, sha[:7], doc.Find("#commit").Text())
		})
	}
}

const sha = "1a2b3c4d5e6f708192a3b4c5d6e7f80912a3b4c5"

// checkout renders the static template's repository, with another page when one is given.
func checkout(t *testing.T, page string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../fixtures/templates/static/repository")))
	index := filepath.Join(dir, "index.html")
	if page == "" {
		source, err := template.ParseFiles(index)
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, source.Execute(&b, map[string]string{"Project": "static-1", "Component": "static-1-web", "Owner": "developer"}))
		page = b.String()
	}
	require.NoError(t, os.WriteFile(index, []byte(page), 0o600))
	return dir
}

func program(t *testing.T, dir, path string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", path)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "COMMIT=" + sha, "COMMIT_TIME=2026-11-20T18:00:00Z"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
