package workflow

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestThePipelineModuleOfThePlatformParses(t *testing.T) {
	p, err := parsePipeline([]byte(moduleFiles(t)["pipeline.yaml"]))
	require.NoError(t, err)
	assert.Equal(t, []string{"checkout", "test", "build", "publish"}, p.names())
	assert.Equal(t, 2*time.Minute, p.Stages[0].limit)
	assert.Equal(t, []string{"sh", "ci/build.sh"}, p.Stages[1].Argv)
	assert.Equal(t, "dist", p.Image.Root)
}

func TestAPipelineIsReadStrictly(t *testing.T) {
	const source, image = "source: checkout\n", "image: {stage: publish, root: dist}\n"
	stages := func(s string) string { return source + "stages: [" + s + "]\n" + image }
	for _, c := range []struct{ name, body, reason string }{
		{"nothing", "", `pipeline.yaml: it is empty`},
		{"a list", "[]", `cannot unmarshal`},
		{"an unknown field", stages(`{name: test, argv: [sh], timeout: 1m}`) + "retries: 3\n", `field "retries" is unknown`},
		{"an unknown field of a stage", stages(`{name: test, argv: [sh], timeout: 1m, image: ruby}`), `line 2: field "image" is unknown`},
		{"two documents", stages(`{name: test, argv: [sh], timeout: 1m}`) + "---\nsource: x\n", `must hold one document`},
		{"no stages", stages(``), `stages "0": there must be 1 to 32`},
		{"too many stages", stages(strings.Repeat(`{name: test, argv: [sh], timeout: 1m},`, 33)), `stages "33": there must be 1 to 32`},
		{"a stage without a name", stages(`{argv: [sh], timeout: 1m}`), `name of a stage "": must be`},
		{"a name with a blank", stages(`{name: "a b", argv: [sh], timeout: 1m}`), `name of a stage "a b": must be`},
		{"a name twice", stages(`{name: checkout, argv: [sh], timeout: 1m}`), `name of a stage "checkout": is taken`},
		{"no source", "stages: [{name: test, argv: [sh], timeout: 1m}]\n" + image, `name of a stage "": must be`},
		{"no program", stages(`{name: test, argv: [], timeout: 1m}`), `stages[0].argv "0": there must be 1 to 64`},
		{"an empty program", stages(`{name: test, argv: [""], timeout: 1m}`), `stages[0].argv[0] "": must be`},
		{"an option for a program", stages(`{name: test, argv: [-c, id], timeout: 1m}`), `stages[0].argv[0] "-c": must be a program`},
		{"a long argument", stages(`{name: test, argv: [sh, ` + strings.Repeat("x", 5000) + `], timeout: 1m}`), `stages[0].argv[1] "xxx`},
		{"no time limit", stages(`{name: test, argv: [sh]}`), `stages[0].timeout "": must be a duration`},
		{"a time limit of nothing", stages(`{name: test, argv: [sh], timeout: 0s}`), `stages[0].timeout "0s": must be`},
		{"a time limit of a day", stages(`{name: test, argv: [sh], timeout: 24h}`), `stages[0].timeout "24h": must be a duration of more than 0 and at most 1h`},
		{"no image", source + "stages: [{name: test, argv: [sh], timeout: 1m}]\n", `name of a stage "": must be`},
		{"an image root that climbs", source + "stages: [{name: test, argv: [sh], timeout: 1m}]\nimage: {stage: publish, root: ../..}\n", `image.root "../..": must be`},
		{"an image root at the top", source + "stages: [{name: test, argv: [sh], timeout: 1m}]\nimage: {stage: publish, root: /etc}\n", `image.root "/etc": must be`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parsePipeline([]byte(c.body))
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.reason)
			assert.True(t, strings.HasPrefix(err.Error(), "pipeline.yaml: "), err)
		})
	}
}

func TestAPipelineThatIsReadStaysInItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := fmt.Sprintf("source: %s\nstages: [{name: %s, argv: %q, timeout: %s}]\nimage: {stage: %s, root: %q}\n",
			rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "source"), rapid.StringMatching(`[a-z-]{1,3}`).Draw(t, "name"),
			rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "argv"), rapid.StringMatching(`-?[0-9]{1,3}(ns|s|m|h)`).Draw(t, "timeout"),
			rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "image"), rapid.StringMatching(`[./a-z]{0,6}`).Draw(t, "root"))
		p, err := parsePipeline([]byte(body))
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, n := range p.names() {
			assert.Regexp(t, stageName, n)
			assert.False(t, seen[n])
			seen[n] = true
		}
		for _, s := range p.Stages {
			assert.NotEmpty(t, s.Argv)
			assert.Positive(t, s.limit)
			assert.LessOrEqual(t, s.limit, maxTimeout)
		}
		assert.False(t, filepath.IsAbs(p.Image.Root), p.Image.Root)
		assert.Regexp(t, `^/base(/|$)`, filepath.Join("/base", p.Image.Root))
	})
}
