package openchoreo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/outgoing"
)

const (
	// pageSize is the largest page that the API gives.
	pageSize = 100
	// maxPages ends a list whose server never stops giving cursors.
	maxPages = 10_000
)

// call is one request and what its failure is about.
type call struct {
	method string
	path   string
	query  url.Values
	etag   string // sent as If-Match
	body   any
	kind   flowclient.Kind
	name   string
}

// Get reads one object with its ETag.
func (c *Client) Get(ctx context.Context, kind flowclient.Kind, name string) (flowclient.Object, error) {
	path, err := c.item(kind, name)
	if err != nil {
		return flowclient.Object{}, err
	}
	return c.object(ctx, call{method: http.MethodGet, path: path, kind: kind, name: name})
}

// List reads every page; each object that the filter leaves out is left out, whether or not the server knows the filter.
func (c *Client) List(ctx context.Context, kind flowclient.Kind, filter flowclient.Filter) ([]flowclient.Object, error) {
	path, err := c.collection(kind)
	if err != nil {
		return nil, err
	}
	query := narrow(places[kind], filter)
	found := []flowclient.Object{}
	for range maxPages {
		var page struct {
			Items      []flowclient.Object `json:"items"`
			Pagination struct {
				NextCursor string `json:"nextCursor"`
			} `json:"pagination"`
		}
		if _, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query, kind: kind}, &page); err != nil {
			return nil, err
		}
		for _, o := range page.Items {
			if o.Kind == "" {
				o.Kind = kind
			}
			if owned(o, filter) {
				found = append(found, o)
			}
		}
		if page.Pagination.NextCursor == "" {
			return found, nil
		}
		if query.Get("cursor") == page.Pagination.NextCursor {
			break
		}
		query.Set("cursor", page.Pagination.NextCursor)
	}
	return nil, &flowclient.Upstream{Part: part, Err: fmt.Errorf("list %s: the pages have no end", kind)}
}

// narrow turns a filter into the query parameters that the kind's list knows.
func narrow(p place, f flowclient.Filter) url.Values {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	selector := f.LabelSelector
	also := func(key, value string) {
		if value == "" {
			return
		}
		if selector != "" {
			selector += ","
		}
		selector += key + "=" + value
	}
	if p.labelled {
		also(flowclient.LabelProject, f.Project)
		also(flowclient.LabelComponent, f.Component)
	}
	if selector != "" {
		query.Set("labelSelector", selector)
	}
	if p.project && f.Project != "" {
		query.Set("project", f.Project)
	}
	if p.component && f.Component != "" {
		query.Set("component", f.Component)
	}
	return query
}

// Create makes an object; a name that is taken is flowclient.ErrExists.
func (c *Client) Create(ctx context.Context, o flowclient.Object) (flowclient.Object, error) {
	path, err := c.collection(o.Kind)
	if err != nil {
		return flowclient.Object{}, err
	}
	return c.object(ctx, call{method: http.MethodPost, path: path, body: sent(o), kind: o.Kind, name: o.Metadata.Name})
}

// Update replaces labels, annotations and spec. With o.ETag it is conditional:
// flowclient.ErrConflict when the object has changed since.
func (c *Client) Update(ctx context.Context, o flowclient.Object) (flowclient.Object, error) {
	path, err := c.item(o.Kind, o.Metadata.Name)
	if err != nil {
		return flowclient.Object{}, err
	}
	return c.object(ctx, call{method: http.MethodPut, path: path, etag: o.ETag, body: sent(o), kind: o.Kind, name: o.Metadata.Name})
}

// Delete asks for removal; the object may be readable, with a deletion time,
// until what it holds is removed. A server that refuses because something still
// names the object gives a *flowclient.Refusal with its sentence.
func (c *Client) Delete(ctx context.Context, kind flowclient.Kind, name string) error {
	path, err := c.item(kind, name)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, call{method: http.MethodDelete, path: path, kind: kind, name: name}, nil)
	return err
}

// RunLog reads the output of a run's stage; "" reads every stage.
func (c *Client) RunLog(ctx context.Context, run, stage string) ([]flowclient.LogLine, error) {
	path, err := c.item(flowclient.KindWorkflowRun, run)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	if stage != "" {
		query.Set("task", stage)
	}
	lines := []flowclient.LogLine{}
	_, err = c.do(ctx, call{method: http.MethodGet, path: path + "/logs", query: query, kind: flowclient.KindWorkflowRun, name: run}, &lines)
	return lines, err
}

// sent is the part of an object that a write carries: status and server-set metadata stay behind.
func sent(o flowclient.Object) flowclient.Object {
	return flowclient.Object{
		Metadata: flowclient.Metadata{
			Name: o.Metadata.Name, Namespace: o.Metadata.Namespace,
			Labels: o.Metadata.Labels, Annotations: o.Metadata.Annotations,
		},
		Spec: o.Spec,
	}
}

// collection is the path of a kind's list.
func (c *Client) collection(kind flowclient.Kind) (string, error) {
	p, known := places[kind]
	switch {
	case !known:
		return "", &flowclient.Invalid{Field: "kind", Value: string(kind), Why: "the control plane's client does not know it"}
	case p.cluster:
		return "/api/v1/" + p.segment, nil
	}
	return "/api/v1/namespaces/" + url.PathEscape(c.namespace) + "/" + p.segment, nil
}

// item is the path of one object. A name that would change the path's meaning is refused.
func (c *Client) item(kind flowclient.Kind, name string) (string, error) {
	path, err := c.collection(kind)
	if err != nil {
		return "", err
	}
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		return "", &flowclient.Invalid{Field: "metadata.name", Value: name, Why: "must be a name of lower-case letters, digits and '-'"}
	}
	return path + "/" + url.PathEscape(name), nil
}

// object makes a call whose answer is one object.
func (c *Client) object(ctx context.Context, call call) (flowclient.Object, error) {
	var o flowclient.Object
	header, err := c.do(ctx, call, &o)
	if err != nil {
		return flowclient.Object{}, err
	}
	if o.Kind == "" {
		o.Kind = call.kind
	}
	o.ETag = header.Get("ETag")
	return o, nil
}

// do makes a call and decodes a 2xx answer into out, where given.
func (c *Client) do(ctx context.Context, call call, out any) (http.Header, error) {
	req, err := c.request(ctx, call)
	if err != nil {
		return nil, err
	}
	client := c.once
	if call.method == http.MethodGet {
		client = c.again
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, upstream(ctx, call, err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end or given up: nothing is lost with it
	body, err := outgoing.Read(resp.Body)
	if err != nil {
		return nil, upstream(ctx, call, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, refused(call, resp.StatusCode, body)
	}
	if out == nil {
		return resp.Header, nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return nil, upstream(ctx, call, fmt.Errorf("decode answer: %w", err))
	}
	return resp.Header, nil
}

// request builds the HTTP request of a call.
func (c *Client) request(ctx context.Context, call call) (*http.Request, error) {
	target := c.base + call.path
	if len(call.query) > 0 {
		target += "?" + call.query.Encode()
	}
	var body *bytes.Reader
	if call.body != nil {
		raw, err := json.Marshal(call.body)
		if err != nil {
			return nil, &flowclient.Invalid{Field: "spec", Value: call.name, Why: err.Error()}
		}
		body = bytes.NewReader(raw)
	}
	var req *http.Request
	var err error
	if body != nil {
		req, err = http.NewRequestWithContext(ctx, call.method, target, body)
	} else {
		req, err = http.NewRequestWithContext(ctx, call.method, target, nil)
	}
	if err != nil {
		return nil, upstream(ctx, call, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if call.etag != "" {
		req.Header.Set("If-Match", call.etag)
	}
	return req, nil
}

// upstream wraps a failure to reach or to understand the server; the end of the caller's own context stays what it is.
func upstream(ctx context.Context, call call, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the address, which callers know
	}
	return &flowclient.Upstream{Part: part, Err: fmt.Errorf("%s %s: %w", call.method, call.path, err)}
}
