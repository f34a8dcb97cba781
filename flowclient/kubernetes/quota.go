package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"platform.dev/platform/flowclient"
)

// quotaList is a ResourceQuotaList, as far as it is read.
type quotaList struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []quota `json:"items"`
}

// quota is a ResourceQuota, as far as it is read.
type quota struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Hard   map[string]string `json:"hard"`
		Scopes []string          `json:"scopes"`
	} `json:"spec"`
	Status struct {
		Hard map[string]string `json:"hard"`
		Used map[string]string `json:"used"`
	} `json:"status"`
}

// mostPages bounds a list: no server has so many quotas in a namespace.
const mostPages = 100

// patience is how long one Quota may take with its pages and repeats: a server
// that asks to be asked again in an hour must not keep a request that long.
const patience = 30 * time.Second

// namespaceName is a DNS label, as the names of namespaces are.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// elsewhere are scopes of quotas that no replica of a release can count
// against: it runs on, and what limits it declares requests.
var elsewhere = []string{"Terminating", "BestEffort"}

// Quota is the quota of a namespace; of several, of each resource the one with
// least left. A namespace that does not exist has none: an API server answers
// an empty list. One whose status is not complete yet is *flowclient.Upstream:
// what it has left is not known.
func (c *Client) Quota(ctx context.Context, namespace string) (q flowclient.Quota, found bool, err error) {
	if !namespaceName.MatchString(namespace) {
		return q, false, &flowclient.Invalid{Field: "namespace", Value: namespace, Why: "must be lower-case letters, digits and inner dashes, at most 63"}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	quotas, err := c.quotas(ctx, namespace)
	if errors.Is(err, errGone) { // once: what was listed is read again from its beginning
		quotas, err = c.quotas(ctx, namespace)
	}
	if errors.Is(err, errGone) {
		err = &flowclient.Upstream{Part: part, Err: err}
	}
	if err != nil {
		return q, false, err
	}
	q = flowclient.Quota{Namespace: namespace, Hard: flowclient.Quantities{}, Used: flowclient.Quantities{}}
	for _, one := range quotas {
		if slices.ContainsFunc(one.Spec.Scopes, func(s string) bool { return slices.Contains(elsewhere, s) }) {
			continue
		}
		found = true
		if err := one.into(q); err != nil {
			return flowclient.Quota{}, false, &flowclient.Upstream{Part: part, Err: fmt.Errorf("ResourceQuota %s of namespace %s: %w", one.Metadata.Name, namespace, err)}
		}
	}
	if !found {
		return flowclient.Quota{}, false, nil
	}
	return q, true, nil
}

// quotas lists all quotas of a namespace, page by page.
func (c *Client) quotas(ctx context.Context, namespace string) (all []quota, err error) {
	path := "/api/v1/namespaces/" + namespace + "/resourcequotas"
	query := url.Values{"limit": {strconv.Itoa(c.cfg.PageSize)}}
	for range mostPages {
		var page quotaList
		if err := c.get(ctx, path, query, &page); err != nil {
			return nil, err
		}
		if page.Kind != "ResourceQuotaList" {
			return nil, &flowclient.Upstream{Part: part, Err: fmt.Errorf("GET %s: the answer is no ResourceQuotaList", path)}
		}
		all = append(all, page.Items...)
		if page.Metadata.Continue == "" {
			return all, nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
	return nil, &flowclient.Upstream{Part: part, Err: fmt.Errorf("GET %s: more than %d pages", path, mostPages)}
}

// into lays the quota over what q has: of each resource the one with least left stays.
func (one quota) into(q flowclient.Quota) error {
	for name := range one.Spec.Hard {
		if _, known := one.Status.Hard[name]; !known {
			return fmt.Errorf("its status does not tell of %s yet; ask again in a minute", name)
		}
	}
	for name, text := range one.Status.Hard {
		resource := flowclient.QuotaResource(name)
		hard, err := flowclient.ParseQuantity(resource, text)
		if err != nil {
			return fmt.Errorf("status.hard[%s] %q %w", name, text, err)
		}
		told, known := one.Status.Used[name]
		if !known {
			return fmt.Errorf("its status does not tell how much %s is used; ask again in a minute", name)
		}
		used, err := flowclient.ParseQuantity(resource, told)
		if err != nil {
			return fmt.Errorf("status.used[%s] %q %w", name, told, err)
		}
		if before, limited := q.Hard[resource]; limited && before-q.Used[resource] <= hard-used {
			continue
		}
		q.Hard[resource], q.Used[resource] = hard, used
	}
	return nil
}
