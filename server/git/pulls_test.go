package git_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPullRequestIsOpenedWithWhatGitSaysOfIt(t *testing.T) {
	w := pulling(t)
	base := w.main(t)
	head := w.branch(t, "feature/x", "page", "one\ntwo\n")
	p := w.do(t, 201, "POST", "/pulls", map[string]any{"head": "platform:feature/x", "base": "main", "title": " Feature X ", "body": "hello"})
	assert.Equal(t, "Feature X", p.Title)
	assert.Equal(t, "open", p.State)
	assert.Equal(t, base, p.MergeBase)
	assert.Equal(t, base, p.Base.SHA)
	assert.Equal(t, head, p.Head.SHA)
	assert.Equal(t, "feature/x", p.Head.Ref)
	assert.True(t, p.Mergeable)
	assert.Equal(t, []int{2, 0, 1}, []int{p.Additions, p.Deletions, p.ChangedFiles})
	assert.Equal(t, head, w.sha(t, "refs/pull/1/head"))
	again := w.do(t, 409, "POST", "/pulls", map[string]any{"head": "feature/x", "base": "main", "title": "Another"})
	assert.Contains(t, again.Message, "already exists")
	found := w.do(t, 200, "GET", "/pulls/main/feature/x", nil)
	assert.Equal(t, p.Number, found.Number)
	var repo struct {
		OpenPulls int `json:"open_pr_counter"`
	}
	w.call("GET", demo, asAdmin, nil, &repo)
	assert.Equal(t, 1, repo.OpenPulls)
}

func TestABadPullRequestIsRefusedByItsFieldAndMakesNothing(t *testing.T) {
	w := pulling(t)
	w.branch(t, "feature", "page", "x")
	tool(t, w.dir, "checkout", "--quiet", "--orphan", "stranger")
	w.commit(t, "stranger", "other", "x")
	tool(t, w.dir, "push", "--quiet", "origin", "origin/main:refs/heads/same")
	before := w.dump()
	good := map[string]any{"head": "feature", "base": "main", "title": "t"}
	for name, c := range map[string]struct {
		field  string
		value  any
		status int
		says   string
	}{
		"no title":                     {"title", "", 422, "title"},
		"a title of two lines":         {"title", "a\nb", 422, "title"},
		"a title that is too long":     {"title", strings.Repeat("x", 256), 422, "title"},
		"a body that is too long":      {"body", strings.Repeat("x", 64<<10+1), 422, "body"},
		"a title that is a number":     {"title", 7, 422, "title"},
		"no head":                      {"head", "", 422, "head"},
		"a head that is an option":     {"head", "--all", 422, "head"},
		"a head of a fork":             {"head", "somebody:feature", 422, "head"},
		"a head that does not exist":   {"head", "nothing", 404, "nothing"},
		"a base that does not exist":   {"base", "nothing", 404, "nothing"},
		"a base that is a commit":      {"base", w.main(t), 404, "does not exist"},
		"the base as head":             {"head", "main", 422, "no changes"},
		"a head that has nothing new":  {"head", "same", 422, "no changes"},
		"a head of another history":    {"head", "stranger", 422, "in common"},
		"a label that does not exist":  {"labels", []int{7}, 404, "label"},
		"a label that is no label":     {"labels", []any{map[string]any{}}, 404, "label"},
		"labels that are no list":      {"labels", "promote", 422, "labels"},
		"a base with a line break":     {"base", "ma\nin", 422, "base"},
		"a head that is an expression": {"head", "feature~1", 422, "head"},
	} {
		body := map[string]any{}
		for k, v := range good {
			body[k] = v
		}
		body[c.field] = c.value
		answer := w.do(t, c.status, "POST", "/pulls", body)
		assert.Contains(t, answer.Message, c.says, name)
	}
	assert.Equal(t, before, w.dump())
}

func TestPullsAreListedByStateOrderAndPage(t *testing.T) {
	w := pulling(t)
	for i := range 5 {
		w.open(t, fmt.Sprintf("b%d", i+1), fmt.Sprintf("f%d", i), "x")
	}
	w.do(t, 201, "PATCH", "/pulls/2", map[string]any{"state": "closed"})
	w.do(t, 200, "POST", "/pulls/4/merge", map[string]any{"Do": "merge"})
	for query, want := range map[string][]int64{
		"":                              {5, 3, 1},
		"?state=open&sort=oldest":       {1, 3, 5},
		"?state=closed":                 {4, 2},
		"?state=all":                    {5, 4, 3, 2, 1},
		"?state=all&sort=oldest":        {1, 2, 3, 4, 5},
		"?state=all&limit=2&page=2":     {3, 2},
		"?state=all&limit=2&page=9":     {},
		"?base_branch=main":             {5, 3, 1},
		"?base_branch=release":          {},
		"?state=all&sort=recentupdate":  {4, 2, 5, 3, 1},
		"?state=all&sort=mostcomment":   {5, 4, 3, 2, 1},
		"?state=open&sort=leastcomment": {5, 3, 1},
	} {
		var list []said
		require.Equal(t, 200, w.call("GET", demo+"/pulls"+query, asAdmin, nil, &list), query)
		got := []int64{}
		for _, p := range list {
			got = append(got, p.Number)
		}
		assert.Equal(t, want, got, query)
	}
	for _, query := range []string{"?state=merged", "?sort=title", "?page=x"} {
		assert.Equal(t, 422, w.call("GET", demo+"/pulls"+query, asAdmin, nil, nil), query)
	}
	resp, err := http.Get(w.base + "/api/v1/repos/platform/demo/pulls")
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, 404, resp.StatusCode, "a private repository's are nobody's")
}

func TestAnEditChangesWhatItNames(t *testing.T) {
	w := pulling(t)
	w.open(t, "feature", "page", "x")
	p := w.do(t, 201, "PATCH", "/pulls/1", map[string]any{"title": "Another"})
	assert.Equal(t, "Another", p.Title)
	assert.Equal(t, "hello", p.Body)
	p = w.do(t, 201, "PATCH", "/pulls/1", map[string]any{"body": ""})
	assert.Equal(t, "Another", p.Title)
	assert.Empty(t, p.Body)
	for name, c := range map[string]struct {
		body   map[string]any
		status int
		says   string
	}{
		"a state that is none":        {map[string]any{"state": "merged"}, 422, "state"},
		"another base":                {map[string]any{"base": "release"}, 422, "base"},
		"labels, which are elsewhere": {map[string]any{"labels": []int{1}}, 422, "issues/1/labels"},
		"a title of two lines":        {map[string]any{"title": "a\nb"}, 422, "title"},
	} {
		assert.Contains(t, w.do(t, c.status, "PATCH", "/pulls/1", c.body).Message, c.says, name)
	}
	w.do(t, 404, "PATCH", "/pulls/7", map[string]any{"title": "x"})
	w.do(t, 404, "GET", "/pulls/x", nil)
}

func TestAClosedPullRequestIsReopenedWhereItsBranchIsNow(t *testing.T) {
	w := pulling(t)
	w.open(t, "feature", "page", "x")
	closed := w.do(t, 201, "PATCH", "/pulls/1", map[string]any{"state": "closed"})
	assert.Equal(t, "closed", closed.State)
	assert.False(t, closed.Merged)
	head := w.commit(t, "feature", "more", "y")
	assert.Equal(t, closed.Head.SHA, w.read(t, 1).Head.SHA, "what was closed stays as it was")
	again := w.do(t, 201, "PATCH", "/pulls/1", map[string]any{"state": "open"})
	assert.Equal(t, "open", again.State)
	assert.Equal(t, head, again.Head.SHA)
	assert.Equal(t, head, w.sha(t, "refs/pull/1/head"))

	w.do(t, 201, "PATCH", "/pulls/1", map[string]any{"state": "closed"})
	w.do(t, 201, "POST", "/pulls", map[string]any{"head": "feature", "base": "main", "title": "Again"})
	assert.Contains(t, w.do(t, 409, "PATCH", "/pulls/1", map[string]any{"state": "open"}).Message, "already exists")
	w.do(t, 200, "POST", "/pulls/2/merge", map[string]any{})
	assert.Contains(t, w.do(t, 412, "PATCH", "/pulls/2", map[string]any{"state": "open"}).Message, "already merged")
}

func TestABranchThatGoesClosesItsPullRequests(t *testing.T) {
	w := pulling(t)
	w.open(t, "one", "f1", "x")
	w.open(t, "two", "f2", "x")
	w.open(t, "three", "f3", "x")
	tool(t, w.dir, "push", "--quiet", "origin", "origin/main:refs/heads/release")
	w.do(t, 201, "POST", "/pulls", map[string]any{"head": "three", "base": "release", "title": "Onto another"})
	tool(t, w.dir, "push", "--quiet", "origin", ":one")
	assert.Equal(t, 204, w.call("DELETE", demo+"/branches/two", asAdmin, nil, nil))
	assert.Equal(t, 204, w.call("DELETE", demo+"/branches/release", asAdmin, nil, nil))
	for number, state := range map[int64]string{1: "closed", 2: "closed", 3: "open", 4: "closed"} {
		p := w.read(t, number)
		assert.Equal(t, state, p.State, "%d", number)
		assert.False(t, p.Merged)
		assert.Equal(t, 1, p.ChangedFiles, "what it changes is still known")
	}
	assert.Equal(t, "refs/pull/1/head", w.read(t, 1).Head.Ref)
	assert.Equal(t, "one", w.read(t, 1).Head.Label)
	assert.Equal(t, 404, w.call("DELETE", demo+"/branches/two", asAdmin, nil, nil))
	assert.Equal(t, 403, w.call("DELETE", demo+"/branches/main", asAdmin, nil, nil))
	assert.Contains(t, w.do(t, 404, "PATCH", "/pulls/1", map[string]any{"state": "open"}).Message, `"one" does not exist`)
	assert.Equal(t, `part of a pull request "reviews" does not exist`, w.do(t, 404, "GET", "/pulls/1/reviews", nil).Message, "and no pull request of the branches 1 and reviews")
}

func TestAPullRequestsRefIsFetchedAndNeverPushed(t *testing.T) {
	w := pulling(t)
	p := w.open(t, "feature", "page", "x")
	out, err := toolErr(t, w.dir, "push", "origin", "HEAD~1:refs/pull/1/head")
	require.Error(t, err, out)
	assert.Equal(t, p.Head.SHA, w.sha(t, "refs/pull/1/head"))
	tool(t, w.dir, "push", "--quiet", "origin", ":feature")
	tool(t, w.dir, "fetch", "--quiet", "origin", "refs/pull/1/head")
	assert.Equal(t, p.Head.SHA, tool(t, w.dir, "rev-parse", "FETCH_HEAD"))
}

func TestAPullRequestTellsItsCommitsFilesAndText(t *testing.T) {
	w := pulling(t)
	w.branch(t, "feature", "page", "one\n")
	second := w.commit(t, "feature", "ünd/so", "two\nthree\n")
	tool(t, w.dir, "mv", "README.md", "LIESMICH.md")
	tool(t, w.dir, "commit", "--quiet", "-m", "rename")
	tool(t, w.dir, "push", "--quiet", "origin", "HEAD:feature")
	w.onMain(t, "elsewhere", "not of the pull request\n")
	w.do(t, 201, "POST", "/pulls", map[string]any{"head": "feature", "base": "main", "title": "t"})
	look := func() {
		t.Helper()
		var commits []struct{ SHA string }
		require.Equal(t, 200, w.call("GET", demo+"/pulls/1/commits", asAdmin, nil, &commits))
		require.Len(t, commits, 3)
		assert.Equal(t, second, commits[1].SHA)
		var files []struct {
			Filename, Status     string
			Previous             string `json:"previous_filename"`
			Additions, Deletions int
		}
		require.Equal(t, 200, w.call("GET", demo+"/pulls/1/files", asAdmin, nil, &files))
		got := map[string]string{}
		for _, f := range files {
			got[f.Filename] = fmt.Sprint(f.Status, " ", f.Previous, " ", f.Additions, " ", f.Deletions)
		}
		assert.Equal(t, map[string]string{"page": "added  1 0", "ünd/so": "added  2 0", "LIESMICH.md": "renamed README.md 0 0"}, got)
		for path, says := range map[string]string{"/pulls/1.diff": "+three", "/pulls/1.patch": "Subject: [PATCH 3/3] rename"} {
			rec := w.page(demo+path, asAdmin)
			assert.Equal(t, 200, rec.Code)
			assert.Contains(t, rec.Body.String(), says)
			assert.NotContains(t, rec.Body.String(), "not of the pull request")
		}
	}
	look()
	w.do(t, 200, "POST", "/pulls/1/merge", map[string]any{"Do": "squash"})
	look()
}

func TestLabelsAreAddedReplacedRemovedAndCleared(t *testing.T) {
	w := pulling(t)
	w.open(t, "feature", "page", "x")
	type named struct {
		ID    int64
		Name  string
		Color string
	}
	create := func(name string) (l named) {
		require.Equal(t, 201, w.call("POST", demo+"/labels", asAdmin, map[string]any{"name": name, "color": "#00AAbb", "description": "d"}, &l))
		return l
	}
	promote, hold := create("promote"), create("hold")
	assert.Equal(t, "00aabb", promote.Color)
	change := func(method, path string, labels ...any) (names []string) {
		t.Helper()
		var list []named
		require.Equal(t, 200, w.call(method, demo+path, asAdmin, map[string]any{"labels": labels}, &list))
		for _, l := range list {
			names = append(names, l.Name)
		}
		return names
	}
	at := "/issues/1/labels"
	assert.Equal(t, []string{"promote"}, change("POST", at, promote.ID))
	assert.Equal(t, []string{"hold", "promote"}, change("POST", at, "hold", "promote"), "by name too, and once")
	assert.Equal(t, []string{"hold"}, change("PUT", at, hold.ID))
	assert.Equal(t, 204, w.call("DELETE", fmt.Sprintf("%s%s/%d", demo, at, hold.ID), asAdmin, nil, nil))
	assert.Equal(t, 422, w.call("DELETE", fmt.Sprintf("%s%s/%d", demo, at, hold.ID), asAdmin, nil, nil), "it does not bear it")
	change("POST", at, promote.ID, hold.ID)
	assert.Equal(t, 204, w.call("DELETE", demo+at, asAdmin, nil, nil))
	assert.Empty(t, w.read(t, 1).Labels)
	var list []named
	require.Equal(t, 200, w.call("GET", demo+"/labels", asAdmin, nil, &list))
	assert.Equal(t, []named{hold, promote}, list)

	before := w.dump()
	for name, c := range map[string]struct {
		body   any
		status int
	}{
		"a name that is there":       {map[string]any{"name": "hold", "color": "#000000"}, 409},
		"no name":                    {map[string]any{"name": " ", "color": "#000000"}, 422},
		"a colour that is none":      {map[string]any{"name": "x", "color": "red"}, 422},
		"an exclusive one":           {map[string]any{"name": "x", "color": "#000000", "exclusive": true}, 422},
		"a description that is long": {map[string]any{"name": "x", "color": "#000000", "description": strings.Repeat("x", 201)}, 422},
		"what is no JSON":            {"{", 422},
	} {
		assert.Equal(t, c.status, w.call("POST", demo+"/labels", asAdmin, c.body, nil), name)
	}
	assert.Equal(t, 404, w.call("POST", demo+at, asAdmin, map[string]any{"labels": []any{"unknown"}}, nil))
	assert.Equal(t, 404, w.call("POST", demo+"/issues/9/labels", asAdmin, map[string]any{"labels": []any{"hold"}}, nil))
	assert.Equal(t, 404, w.call("GET", demo+"/issues/1/reactions", asAdmin, nil, nil))
	assert.Equal(t, before, w.dump())
}

func TestCommentsAreMadeEditedListedAndDeleted(t *testing.T) {
	w := pulling(t)
	w.open(t, "feature", "page", "x")
	type talk struct {
		ID   int64
		Body string
	}
	var first, second talk
	require.Equal(t, 201, w.call("POST", demo+"/issues/1/comments", asAdmin, talk{Body: "one"}, &first))
	require.Equal(t, 201, w.call("POST", demo+"/issues/1/comments", asAdmin, talk{Body: "two"}, &second))
	at := fmt.Sprintf("%s/issues/comments/%d", demo, first.ID)
	var edited talk
	require.Equal(t, 200, w.call("PATCH", at, asAdmin, talk{Body: "one, edited"}, &edited))
	assert.Equal(t, talk{first.ID, "one, edited"}, edited)
	require.Equal(t, 200, w.call("GET", at, asAdmin, nil, &edited))
	assert.Equal(t, "one, edited", edited.Body)
	var list []talk
	require.Equal(t, 200, w.call("GET", demo+"/issues/1/comments?limit=1", asAdmin, nil, &list))
	assert.Equal(t, []talk{edited, second}, list, "all of them, as Gitea gives them")
	assert.Equal(t, 2, w.read(t, 1).Comments)
	for _, body := range []string{"", " \n", strings.Repeat("x", 64<<10+1)} {
		assert.Equal(t, 422, w.call("POST", demo+"/issues/1/comments", asAdmin, talk{Body: body}, nil))
		assert.Equal(t, 422, w.call("PATCH", at, asAdmin, talk{Body: body}, nil))
	}
	assert.Equal(t, 404, w.call("POST", demo+"/issues/9/comments", asAdmin, talk{Body: "x"}, nil))
	assert.Equal(t, 204, w.call("DELETE", at, asAdmin, nil, nil))
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		assert.Equal(t, 404, w.call(method, at, asAdmin, talk{Body: "x"}, nil), method)
	}
	assert.Equal(t, 1, w.read(t, 1).Comments)
	w.seeded("other")
	assert.Equal(t, 404, w.call("GET", fmt.Sprintf("/api/v1/repos/platform/other/issues/comments/%d", second.ID), asAdmin, nil, nil), "of this repository alone")
}

func TestWritingToPullRequestsNeedsAToken(t *testing.T) {
	w := pulling(t)
	w.open(t, "feature", "page", "x")
	before := w.dump()
	for path, method := range map[string]string{
		"/pulls": "POST", "/pulls/1": "PATCH", "/pulls/1/merge": "POST", "/labels": "POST", "/issues/1/labels": "POST",
		"/issues/1/comments": "POST", "/issues/comments/1": "PATCH", "/branches/feature": "DELETE",
	} {
		assert.Equal(t, 403, w.call(method, demo+path, "token "+readToken, map[string]any{}, nil), path)
		assert.Equal(t, 401, w.call(method, demo+path, "", map[string]any{}, nil), path)
	}
	assert.Equal(t, before, w.dump())
}

func TestAComparisonListsWhatHeadHasAndBaseHasNot(t *testing.T) {
	w := pulling(t)
	base := w.main(t)
	w.branch(t, "feature/x", "a", "1")
	head := w.commit(t, "feature/x", "b", "2")
	w.onMain(t, "c", "3")
	for _, basehead := range []string{"main...feature%2Fx", "main..feature/x", base + "..." + head, "feature/x"} {
		var got struct {
			Total   int `json:"total_commits"`
			Commits []struct{ SHA string }
		}
		require.Equal(t, 200, w.call("GET", demo+"/compare/"+basehead, asAdmin, nil, &got), basehead)
		assert.Equal(t, 2, got.Total)
		require.Len(t, got.Commits, 2)
		assert.Equal(t, head, got.Commits[0].SHA, "newest first")
	}
	for basehead, status := range map[string]int{"main...nothing": 404, "nothing...main": 404, "main...--all": 422, "main~1...main": 422} {
		assert.Equal(t, status, w.call("GET", demo+"/compare/"+basehead, asAdmin, nil, nil), basehead)
	}
}
