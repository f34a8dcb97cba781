package flowclient

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCollisionsNameTheOther(t *testing.T) {
	there := taken{
		projects:     []string{"shop", "x-cart"},
		environments: []string{"staging", "production", "staging-x"},
		components:   map[string]string{"shop-web": "shop", "pay": "shop"},
		bindings:     map[string]string{"shop-web-staging": "shop-web", "orphan-production": "gone"},
	}
	for name, c := range map[string]struct {
		project    string
		components []string
		says       string
	}{
		"free":                         {"books", []string{"books-web"}, ""},
		"project":                      {"shop", nil, "project shop exists already"},
		"component":                    {"books", []string{"shop-web"}, "component shop-web exists already, in project shop"},
		"binding that is left":         {"books", []string{"orphan"}, "would be called orphan-production, as one of component gone is"},
		"a name of the same beginning": {"books", []string{"pay-x"}, ""},
		"host of another environment":  {"cart", nil, "would answer at the host of project x-cart in staging (staging-x-cart)"},
	} {
		t.Run(name, func(t *testing.T) {
			err := there.collision(c.project, c.components)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			var refused *Refusal
			require.ErrorAs(t, err, &refused)
			assert.Contains(t, refused.Sentence, c.says)
			assert.Contains(t, refused.Sentence, "choose another name")
		})
	}
	there.environments = append(there.environments, "x-staging")
	err := there.collision("books", []string{"pay-x"})
	require.ErrorContains(t, err, "pay-x-staging, as that of component pay of project shop in x-staging")
}

func TestPathsOfACommitStayInsideTheRepository(t *testing.T) {
	for _, path := range []string{"index.html", "a/b/c.txt", ".gitignore", "..a/b", "dir/.git-keep"} {
		assert.NoError(t, checkPath("files", path), path)
	}
	for _, path := range []string{"", "/etc/passwd", "../x", "a/../../x", "./a", "a//b", "a/", ".", "..", ".git/config", ".GIT/config", "a\\b", "a\nb", strings.Repeat("a", 501), "\xff"} {
		assert.Error(t, checkPath("files", path), path)
	}
}

func TestRepositoryOfAComponent(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:3001/platform/shop.git": "platform/shop",
		"https://git.example/platform/shop":       "platform/shop",
		"git@git.example:platform/shop.git":       "platform/shop",
		"ssh://git@git.example/platform/shop/":    "platform/shop",
	} {
		o := Object{Metadata: Metadata{Name: "shop-web"}, Spec: []byte(`{"workflow":{"name":"build","parameters":{"repository":{"url":"` + url + `"}}}}`)}
		got, err := repositoryOf(o)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := repositoryOf(Object{Metadata: Metadata{Name: "shop-web"}, Spec: []byte(`{}`)})
	require.ErrorContains(t, err, "shop-web names no repository")
}
