package runtime

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
)

const namespace = "dp-default-shop-staging-0a1b2c3d"

// limited is the cell of shop in staging.
func limited() Cell {
	return Cell{Name: "shop-staging", Namespace: namespace, Labels: map[string]string{"openchoreo.dev/project": "shop"},
		Quotas: map[string]map[string]string{"cell-memory": {"requests.memory": "1Gi", "pods": "4"}, "cell-cpu": {"requests.cpu": "2", "count/services": "5"}}}
}

// declaring is a deployment of the cell with that memory.
func declaring(name string, memory int64) Deployment {
	return Deployment{Name: name, Project: "shop", Component: name, Environment: "staging", Type: "cronjob/unknown",
		Cell: namespace, Declared: flowclient.Quantities{flowclient.Memory: memory, flowclient.CPU: 150, flowclient.Pods: 1}}
}

// read asks the quota API.
func (b *bench) read(method, path string) (status int, header http.Header, text string) {
	b.t.Helper()
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, httptest.NewRequestWithContext(b.t.Context(), method, path, nil))
	return w.Code, w.Header(), w.Body.String()
}

const quotasOf = "/api/v1/namespaces/" + namespace + "/resourcequotas"

func TestQuotasAreAnsweredAsACluster(t *testing.T) {
	b := newBench(t)
	b.ApplyCell(limited())
	b.apply(declaring("shop-api", 256<<20))
	b.apply(declaring("shop-web", 96<<20))
	status, header, text := b.read(http.MethodGet, quotasOf)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "application/json", header.Get("Content-Type"))
	var list struct {
		Items []struct {
			Metadata struct{ UID string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	require.Len(t, list.Items, 2)
	for _, q := range list.Items {
		_, err := uuid.Parse(q.Metadata.UID)
		require.NoError(t, err)
	}
	assert.NotEqual(t, list.Items[0].Metadata.UID, list.Items[1].Metadata.UID)
	// Written by hand from the reference of core v1's ResourceQuotaList.
	assert.JSONEq(t, fmt.Sprintf(`{
		"kind": "ResourceQuotaList", "apiVersion": "v1",
		"metadata": {"resourceVersion": "3"},
		"items": [
			{"metadata": {"name": "cell-cpu", "namespace": %[1]q, "uid": %[2]q, "resourceVersion": "3", "creationTimestamp": "2026-03-04T05:06:07Z", "labels": {"openchoreo.dev/project": "shop"}},
			 "spec": {"hard": {"requests.cpu": "2", "count/services": "5"}},
			 "status": {"hard": {"requests.cpu": "2", "count/services": "5"}, "used": {"requests.cpu": "300m", "count/services": "0"}}},
			{"metadata": {"name": "cell-memory", "namespace": %[1]q, "uid": %[3]q, "resourceVersion": "3", "creationTimestamp": "2026-03-04T05:06:07Z", "labels": {"openchoreo.dev/project": "shop"}},
			 "spec": {"hard": {"requests.memory": "1Gi", "pods": "4"}},
			 "status": {"hard": {"requests.memory": "1Gi", "pods": "4"}, "used": {"requests.memory": "352Mi", "pods": "2"}}}
		]}`, namespace, list.Items[0].Metadata.UID, list.Items[1].Metadata.UID), text)

	status, _, one := b.read(http.MethodGet, quotasOf+"/cell-memory")
	assert.Equal(t, http.StatusOK, status)
	assert.JSONEq(t, fmt.Sprintf(`{"kind": "ResourceQuota", "apiVersion": "v1",
		"metadata": {"name": "cell-memory", "namespace": %q, "uid": %q, "resourceVersion": "3", "creationTimestamp": "2026-03-04T05:06:07Z", "labels": {"openchoreo.dev/project": "shop"}},
		"spec": {"hard": {"requests.memory": "1Gi", "pods": "4"}},
		"status": {"hard": {"requests.memory": "1Gi", "pods": "4"}, "used": {"requests.memory": "352Mi", "pods": "2"}}}`, namespace, list.Items[1].Metadata.UID), one)
}

func TestWhatIsNotServedIsAStatus(t *testing.T) {
	b := newBench(t)
	b.ApplyCell(limited())
	for name, c := range map[string]struct {
		method, path string
		status       int
		reason       string
		details      string
		says         string
	}{
		"a quota that does not exist": {http.MethodGet, quotasOf + "/nope", 404, "NotFound", `{"name":"nope","kind":"resourcequotas"}`, `resourcequotas \"nope\" not found`},
		"another path":                {http.MethodGet, "/api/v1/pods", 404, "NotFound", `{"kind":"resourcequotas"}`, "/api/v1/pods is not served: only the quotas of namespaces are"},
		"a write":                     {http.MethodPost, quotasOf, 405, "MethodNotAllowed", `{"kind":"resourcequotas"}`, "quotas are read here; change them in the project or its ProjectReleaseBinding"},
		"a deletion":                  {http.MethodDelete, quotasOf + "/cell-cpu", 405, "MethodNotAllowed", `{"kind":"resourcequotas"}`, "quotas are read here; change them in the project or its ProjectReleaseBinding"},
		"a watch":                     {http.MethodGet, quotasOf + "?watch=1", 400, "BadRequest", `{"kind":"resourcequotas"}`, "the parameter watch is not served: limit and continue are"},
		"a limit that is none":        {http.MethodGet, quotasOf + "?limit=few", 400, "BadRequest", `{"kind":"resourcequotas"}`, "limit few must be a number that is not negative"},
		"a continue that is none":     {http.MethodGet, quotasOf + "?continue=%21", 400, "BadRequest", `{"kind":"resourcequotas"}`, "continue is not what a list answered"},
	} {
		t.Run(name, func(t *testing.T) {
			status, header, text := b.read(c.method, c.path)
			assert.Equal(t, c.status, status)
			assert.JSONEq(t, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"%s","reason":%q,"details":%s,"code":%d}`,
				c.says, c.reason, c.details, c.status), text)
			assert.Equal(t, c.status == 405, header.Get("Allow") == "GET, HEAD")
		})
	}
}

func TestACellHasWhatItWasGivenLast(t *testing.T) {
	b := newBench(t)
	items := func() (names []string) {
		all, _ := b.cells.quotas(namespace)
		for _, q := range all {
			names = append(names, fmt.Sprint(q.Metadata.Name, q.Spec.Hard, q.Metadata.CreationTimestamp.Minute()))
		}
		return names
	}
	assert.Empty(t, items())
	b.ApplyCell(limited())
	_, version := b.cells.quotas(namespace)
	b.clock.add(time.Minute)
	b.ApplyCell(limited())
	assert.Equal(t, []string{"cell-cpumap[count/services:5 requests.cpu:2] 6", "cell-memorymap[pods:4 requests.memory:1Gi] 6"}, items())
	_, again := b.cells.quotas(namespace)
	assert.Equal(t, version, again, "the same again changes nothing")

	c := limited()
	c.Quotas = map[string]map[string]string{"cell-memory": {"requests.memory": "2Gi"}}
	b.ApplyCell(c)
	assert.Equal(t, []string{"cell-memorymap[requests.memory:2Gi] 6"}, items())
	b.RemoveCell("shop-production")
	assert.Len(t, items(), 1, "another cell's end is no end of this one")
	b.RemoveCell("shop-staging")
	assert.Empty(t, items())
}

func TestEveryPageOfQuotasIsReadOnce(t *testing.T) {
	b := newBench(t)
	rapid.Check(t, func(t *rapid.T) {
		c := Cell{Name: "shop-staging", Namespace: namespace, Quotas: map[string]map[string]string{}}
		for range rapid.IntRange(0, 6).Draw(t, "quotas") {
			c.Quotas[rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "name")] = map[string]string{"pods": "1"}
		}
		b.ApplyCell(c)
		seen := map[string]int{}
		path := fmt.Sprintf("%s?limit=%d", quotasOf, rapid.IntRange(1, 4).Draw(t, "limit"))
		for next := ""; ; {
			_, _, text := b.read(http.MethodGet, path+"&continue="+next)
			var list resourceQuotaList
			require.NoError(t, json.Unmarshal([]byte(text), &list))
			for _, q := range list.Items {
				seen[q.Metadata.Name]++
			}
			next = list.Metadata.Continue
			require.Equal(t, next != "", list.Metadata.RemainingItemCount > 0)
			if next == "" {
				break
			}
		}
		require.Len(t, seen, len(c.Quotas))
		for name, times := range seen {
			require.Equal(t, 1, times, name)
		}
	})
}

// Whatever is applied and removed, what is used is the sum of what is to run now.
func TestWhatIsUsedIsTheSumOfWhatIsToRun(t *testing.T) {
	b := newBench(t)
	cells := []string{namespace, "dp-other"}
	for _, ns := range cells {
		b.ApplyCell(Cell{Name: ns, Namespace: ns, Quotas: map[string]map[string]string{"all": {"memory": "1Gi", "requests.cpu": "1", "pods": "9"}}})
	}
	runs := map[string]Deployment{}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
		if rapid.Bool().Draw(t, "removed") {
			require.NoError(t, b.Remove(b.t.Context(), name))
			delete(runs, name)
		} else {
			d := declaring(name, rapid.Int64Range(0, 4).Draw(t, "memory")<<20)
			d.Cell = rapid.SampledFrom(cells).Draw(t, "cell")
			b.apply(d)
			runs[name] = d
		}
		for _, ns := range cells {
			sum := flowclient.Quantities{}
			for _, d := range runs {
				if d.Cell == ns {
					for resource, n := range d.Declared {
						sum[resource] += n
					}
				}
			}
			all, _ := b.cells.quotas(ns)
			require.Equal(t, map[string]string{
				"memory":       flowclient.FormatQuantity(flowclient.Memory, sum[flowclient.Memory]),
				"requests.cpu": flowclient.FormatQuantity(flowclient.CPU, sum[flowclient.CPU]),
				"pods":         fmt.Sprint(sum[flowclient.Pods]),
			}, all[0].Status.Used)
		}
	})
}
