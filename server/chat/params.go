package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"unicode/utf8"

	"platform.dev/platform/server/web"
)

// maxBody is the largest request body in bytes.
const maxBody = 1 << 20

// params are the parameters of one request, from the query and the form body.
// Strings come as they are, everything else as JSON. It remembers which were
// asked for: the rest is answered as ignored_parameters_unsupported.
type params struct {
	values url.Values
	asked  map[string]bool
}

// readParams reads query and body. The body is read for every method, since
// Zulip's clients send forms with DELETE and PATCH too.
func readParams(r *http.Request) (*params, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, bad("Malformed query string: %v", err)
	}
	body, err := web.Body(r, maxBody)
	switch {
	case errors.Is(err, web.ErrTooLarge):
		return nil, &apiError{status: http.StatusRequestEntityTooLarge, code: codeBadRequest,
			msg: "Request body too large (limit " + strconv.Itoa(maxBody) + " bytes)"}
	case err != nil:
		return nil, bad("Request body could not be read: %v", err)
	}
	form, err := readForm(body, r.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	for name, values := range form {
		query[name] = values
	}
	for name, values := range query {
		if !slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }) {
			continue
		}
		return nil, bad("%s is not valid UTF-8", name)
	}
	return &params{values: query, asked: map[string]bool{}}, nil
}

// readForm reads a body in either encoding of forms; Zulip's JavaScript client sends the second.
func readForm(body []byte, kind string) (url.Values, error) {
	if len(body) == 0 {
		return nil, nil
	}
	media, fields := "application/x-www-form-urlencoded", map[string]string(nil)
	if kind != "" {
		var err error
		if media, fields, err = mime.ParseMediaType(kind); err != nil {
			return nil, bad("Content-Type %q cannot be read", kind)
		}
	}
	switch media {
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, bad("Malformed form body: %v", err)
		}
		return form, nil
	case "multipart/form-data":
		form, err := multipart.NewReader(bytes.NewReader(body), fields["boundary"]).ReadForm(maxBody)
		if err != nil {
			return nil, bad("Malformed form body: %v", err)
		}
		if len(form.File) > 0 {
			return nil, errors.Join(bad("Files are not taken here"), form.RemoveAll())
		}
		return form.Value, nil
	default:
		return nil, bad("Content-Type %q is not supported: send application/x-www-form-urlencoded or multipart/form-data", kind)
	}
}

// raw is the text of the first of names that was sent.
func (p *params) raw(names ...string) (string, bool) {
	text, found := "", false
	for _, name := range names {
		p.asked[name] = true
		if v, ok := p.values[name]; ok && !found && len(v) > 0 {
			text, found = v[0], true
		}
	}
	return text, found
}

// given tells whether a parameter was sent.
func (p *params) given(name string) bool {
	_, ok := p.raw(name)
	return ok
}

// text is a string parameter, fallback when absent; further names are older spellings.
func (p *params) text(fallback string, names ...string) string {
	if v, ok := p.raw(names...); ok {
		return v
	}
	return fallback
}

// need is a string parameter that must be there.
func (p *params) need(names ...string) (string, error) {
	v, ok := p.raw(names...)
	if !ok {
		return "", coded(codeMissingArgument, "Missing '"+names[0]+"' argument", "var_name", names[0])
	}
	return v, nil
}

// json decodes a JSON parameter into v and tells whether it was there.
func (p *params) json(name string, v any, want string) (bool, error) {
	text, ok := p.raw(name)
	if !ok {
		return false, nil
	}
	if !json.Valid([]byte(text)) {
		return false, coded(codeInvalidJSON, `Argument "`+name+`" is not valid JSON.`, "var_name", name)
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return false, bad("%s is not %s", name, want)
	}
	return true, nil
}

// flag is a boolean parameter, fallback when absent.
func (p *params) flag(name string, fallback bool) (bool, error) {
	v := fallback
	_, err := p.json(name, &v, "a boolean")
	return v, err
}

// number is an integer parameter, fallback when absent.
func (p *params) number(name string, fallback int64) (int64, error) {
	text, ok := p.raw(name)
	if !ok {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, bad("%s is not an integer", name)
	}
	return n, nil
}

// strings is a JSON list of strings; nil when absent.
func (p *params) strings(name string) ([]string, error) {
	var list []string
	found, err := p.json(name, &list, "a list of strings")
	if found && list == nil {
		list = []string{}
	}
	return list, err
}

// ignored are the parameters that were sent and that nothing asked for, sorted.
func (p *params) ignored() []string {
	var names []string
	for name := range p.values {
		if !p.asked[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
