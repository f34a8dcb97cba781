package git

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"platform.dev/platform/server/web"
)

const (
	apiPrefix = "/api/v1"
	maxJSON   = 1 << 20 // bytes of a request's body
	maxPage   = 50      // items of one page, as Gitea's default MAX_RESPONSE_ITEMS
)

// need is what an endpoint asks of its caller.
type need int

const (
	anyone     need = iota
	account         // a token with the endpoint's scope
	password        // name and password: tokens mint no tokens
	repoReader      // the repository, which private ones hide from who may not read it
	repoWriter      // the repository and a token with the endpoint's scope
)

// endpoint is one row of the API.
type endpoint struct {
	pattern string
	need    need
	scope   string
	run     func(*Server, *call) (int, any, error)
}

// endpoints are the paths of Gitea's API that are served.
var endpoints = []endpoint{
	{"GET /version", anyone, "", (*Server).getVersion},
	{"GET /user", account, readUser, (*Server).getUser},
	{"GET /user/repos", account, readRepository, (*Server).listRepositories},
	{"GET /users/{user}/tokens", password, "", (*Server).listTokens},
	{"POST /users/{user}/tokens", password, "", (*Server).createToken},
	{"DELETE /users/{user}/tokens/{token}", password, "", (*Server).deleteToken},
	{"POST /orgs", account, writeOrg, (*Server).createOrganization},
	{"GET /orgs/{org}", account, readOrg, (*Server).getOrganization},
	{"GET /orgs/{org}/repos", anyone, "", (*Server).listRepositories},
	{"POST /orgs/{org}/repos", account, writeRepo, (*Server).createRepository},
	{"POST /user/repos", account, writeRepo, (*Server).createRepository},
	{"GET /repos/search", anyone, "", (*Server).searchRepositories},
	{"GET /repos/{owner}/{repo}", repoReader, readRepository, (*Server).getRepository},
	{"DELETE /repos/{owner}/{repo}", repoWriter, writeRepo, (*Server).deleteRepository},
	{"GET /repos/{owner}/{repo}/branches", repoReader, readRepository, (*Server).listBranches},
	{"GET /repos/{owner}/{repo}/branches/{branch...}", repoReader, readRepository, (*Server).getBranch},
	{"DELETE /repos/{owner}/{repo}/branches/{branch...}", repoWriter, writeRepo, (*Server).deleteBranch},
	{"GET /repos/{owner}/{repo}/compare/{basehead...}", repoReader, readRepository, (*Server).compareCommits},
	{"GET /repos/{owner}/{repo}/pulls", repoReader, readRepository, (*Server).listPulls},
	{"POST /repos/{owner}/{repo}/pulls", repoWriter, writeRepo, (*Server).createPull},
	{"GET /repos/{owner}/{repo}/pulls/{number}", repoReader, readRepository, (*Server).getPull},
	{"PATCH /repos/{owner}/{repo}/pulls/{number}", repoWriter, writeRepo, (*Server).editPullRequest},
	{"GET /repos/{owner}/{repo}/pulls/{number}/{head...}", repoReader, readRepository, (*Server).findPull},
	{"GET /repos/{owner}/{repo}/pulls/{number}/commits", repoReader, readRepository, (*Server).listPullCommits},
	{"GET /repos/{owner}/{repo}/pulls/{number}/files", repoReader, readRepository, (*Server).listPullFiles},
	{"GET /repos/{owner}/{repo}/pulls/{number}/merge", repoReader, readRepository, (*Server).isMerged},
	{"POST /repos/{owner}/{repo}/pulls/{number}/merge", repoWriter, writeRepo, (*Server).mergePull},
	{"GET /repos/{owner}/{repo}/labels", repoReader, readIssue, (*Server).listRepositoryLabels},
	{"POST /repos/{owner}/{repo}/labels", repoWriter, writeIssue, (*Server).createLabel},
	{"GET /repos/{owner}/{repo}/issues/{number}/{part}", repoReader, readIssue, (*Server).getIssuePart},
	{"DELETE /repos/{owner}/{repo}/issues/{number}/{part}", repoWriter, writeIssue, (*Server).deleteIssuePart},
	{"POST /repos/{owner}/{repo}/issues/{number}/labels", repoWriter, writeIssue, (*Server).addPullLabels},
	{"PUT /repos/{owner}/{repo}/issues/{number}/labels", repoWriter, writeIssue, (*Server).replacePullLabels},
	{"DELETE /repos/{owner}/{repo}/issues/{number}/labels/{label}", repoWriter, writeIssue, (*Server).removePullLabel},
	{"POST /repos/{owner}/{repo}/issues/{number}/comments", repoWriter, writeIssue, (*Server).createComment},
	{"PATCH /repos/{owner}/{repo}/issues/comments/{id}", repoWriter, writeIssue, (*Server).changeComment},
	{"GET /repos/{owner}/{repo}/git/refs", repoReader, readRepository, (*Server).listRefs},
	{"GET /repos/{owner}/{repo}/git/refs/{ref...}", repoReader, readRepository, (*Server).listRefs},
	{"GET /repos/{owner}/{repo}/git/commits/{sha}", repoReader, readRepository, (*Server).getCommit},
	{"GET /repos/{owner}/{repo}/commits", repoReader, readRepository, (*Server).listCommits},
	{"GET /repos/{owner}/{repo}/commits/{sha}/status", repoReader, readRepository, (*Server).getCombinedStatus},
	{"GET /repos/{owner}/{repo}/commits/{sha}/statuses", repoReader, readRepository, (*Server).listStatuses},
	{"GET /repos/{owner}/{repo}/statuses/{sha}", repoReader, readRepository, (*Server).listStatuses},
	{"POST /repos/{owner}/{repo}/statuses/{sha}", repoWriter, writeRepo, (*Server).createStatus},
	{"GET /repos/{owner}/{repo}/contents", repoReader, readRepository, (*Server).getContents},
	{"GET /repos/{owner}/{repo}/contents/{path...}", repoReader, readRepository, (*Server).getContents},
	{"GET /repos/{owner}/{repo}/raw/{path...}", repoReader, readRepository, (*Server).getRaw},
	{"GET /repos/{owner}/{repo}/hooks", repoWriter, writeRepo, (*Server).listHooks},
	{"POST /repos/{owner}/{repo}/hooks", repoWriter, writeRepo, (*Server).createHook},
	{"GET /repos/{owner}/{repo}/hooks/{id}", repoWriter, writeRepo, (*Server).getHook},
	{"PATCH /repos/{owner}/{repo}/hooks/{id}", repoWriter, writeRepo, (*Server).editHook},
	{"DELETE /repos/{owner}/{repo}/hooks/{id}", repoWriter, writeRepo, (*Server).deleteHook},
}

// call is one request to an endpoint whose needs are met.
type call struct {
	*http.Request
	who    caller
	repo   repository
	header http.Header // of the answer
	page   paging
}

// raw is an answer that is no JSON.
type raw []byte

// api serves the endpoints.
func (s *Server) api() http.Handler {
	mux := http.NewServeMux()
	for _, e := range endpoints {
		method, path, _ := strings.Cut(e.pattern, " ")
		mux.HandleFunc(method+" "+apiPrefix+path, func(w http.ResponseWriter, r *http.Request) {
			status, body, err := s.serve(e, w.Header(), r)
			s.reply(w, r, status, body, err)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.reply(w, r, 0, nil, &refusal{http.StatusNotFound, fmt.Sprintf("%s %s is not served here", r.Method, web.Echo(r.URL.Path))})
	})
	return mux
}

// serve checks what the endpoint needs, then runs it.
func (s *Server) serve(e endpoint, header http.Header, r *http.Request) (int, any, error) {
	who, err := s.identify(r)
	if err != nil {
		return 0, nil, err
	}
	c := &call{Request: r, who: who, header: header}
	switch {
	case e.need == password && !who.password:
		return 0, nil, &refusal{http.StatusUnauthorized, "name and password are needed: tokens mint no tokens"}
	case e.need != anyone && e.need != repoReader && !who.known:
		return 0, nil, &refusal{http.StatusUnauthorized, "token is required"}
	case e.need == repoReader || e.need == repoWriter:
		if c.repo, err = s.repository(r.Context(), r.PathValue("owner")+"/"+r.PathValue("repo")); err != nil {
			return 0, nil, err
		}
		if !who.known && c.repo.Private {
			return 0, nil, unknown("repository", c.repo.full())
		}
	}
	if who.known && e.scope != "" && !who.may(e.scope) {
		return 0, nil, &refusal{http.StatusForbidden, fmt.Sprintf("token does not have at least one of required scope(s), required=[%s], token scope=%s",
			e.scope, strings.Join(who.scopes, ","))}
	}
	if c.page, err = pagingOf(r.URL.Query()); err != nil {
		return 0, nil, err
	}
	return e.run(s, c)
}

// reply writes an endpoint's answer. Errors have Gitea's shape.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, status int, body any, err error) {
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		status = refused.status
	case errors.Is(err, errCredentials):
		status = http.StatusUnauthorized
	case err != nil && r.Context().Err() != nil:
		return // the client went away
	case err != nil:
		s.cfg.Log.ErrorContext(r.Context(), "request not answered", "path", r.URL.Path, "error", err)
		status, err = http.StatusInternalServerError, errors.New("the server cannot answer; its log tells why")
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="git", charset="UTF-8"`)
	}
	if err != nil {
		message := err.Error()
		if refused != nil {
			message = refused.message
		}
		web.JSON(w, status, map[string]string{"message": message, "url": s.cfg.BaseURL + apiPrefix})
		return
	}
	switch b := body.(type) {
	case nil:
		w.WriteHeader(status)
	case raw:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(status)
		_, _ = w.Write(b) // the client went away
	default:
		web.JSON(w, status, b)
	}
}

// decode reads the request's JSON body into v.
func (c *call) decode(v any) error {
	body, err := web.Body(c.Request, maxJSON)
	if errors.Is(err, web.ErrTooLarge) {
		return &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body holds more than %d bytes", maxJSON)}
	}
	if err != nil {
		return err
	}
	err = json.Unmarshal(body, v)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return unprocessable(kind.Field, kind.Value, "want "+kind.Type.String())
	case err != nil:
		return unprocessable("body", string(body[:min(len(body), 40)]), "not JSON: "+err.Error())
	}
	return nil
}

// paging is the part of a list that is asked for.
type paging struct{ page, limit int }

func (p paging) skip() int { return (p.page - 1) * p.limit }

// pagingOf reads ?page= (from 1) and ?limit= (at most 50; 0 and none mean 50).
func pagingOf(q url.Values) (paging, error) {
	p := paging{1, maxPage}
	for field, to := range map[string]*int{"page": &p.page, "limit": &p.limit} {
		text := q.Get(field)
		if text == "" || text == "0" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 1_000_000 {
			return p, unprocessable(field, text, "want a number from 0 to 1000000")
		}
		*to = n
	}
	p.limit = min(p.limit, maxPage)
	return p, nil
}

// paged cuts the page asked for out of a whole list and tells the total, as Gitea does.
func paged[T any](c *call, all []T) []T {
	c.total(len(all))
	from := min(c.page.skip(), len(all))
	return orEmpty(all[from:min(from+c.page.limit, len(all))])
}

// total sets the headers that a client pages by.
func (c *call) total(n int) {
	c.header.Set("X-Total-Count", strconv.Itoa(n))
	if c.page.skip()+c.page.limit < n {
		next := *c.URL
		q := next.Query()
		q.Set("page", strconv.Itoa(c.page.page+1))
		next.RawQuery = q.Encode()
		c.header.Set("Link", fmt.Sprintf("<%s>; rel=\"next\"", next.RequestURI()))
	}
}
