package runtime

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

// The answers below are Kubernetes' core v1, as its API reference describes
// them: ResourceQuotaList, ResourceQuota and Status.

type resourceQuotaList struct {
	Kind       string          `json:"kind"`
	APIVersion string          `json:"apiVersion"`
	Metadata   listMeta        `json:"metadata"`
	Items      []resourceQuota `json:"items"`
}

type listMeta struct {
	ResourceVersion    string `json:"resourceVersion"`
	Continue           string `json:"continue,omitempty"`
	RemainingItemCount int    `json:"remainingItemCount,omitempty"`
}

// resourceQuota has its kind and version when it is answered by itself, not as an item of a list.
type resourceQuota struct {
	Kind       string     `json:"kind,omitempty"`
	APIVersion string     `json:"apiVersion,omitempty"`
	Metadata   objectMeta `json:"metadata"`
	Spec       struct {
		Hard map[string]string `json:"hard"`
	} `json:"spec"`
	Status struct {
		Hard map[string]string `json:"hard"`
		Used map[string]string `json:"used"`
	} `json:"status"`
}

type objectMeta struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid"`
	ResourceVersion   string            `json:"resourceVersion"`
	CreationTimestamp time.Time         `json:"creationTimestamp"`
	Labels            map[string]string `json:"labels,omitempty"`
}

// failure is a Status.
type failure struct {
	Kind       string         `json:"kind"`
	APIVersion string         `json:"apiVersion"`
	Metadata   struct{}       `json:"metadata"`
	Status     string         `json:"status"`
	Message    string         `json:"message"`
	Reason     string         `json:"reason"`
	Details    failureDetails `json:"details"`
	Code       int            `json:"code"`
}

type failureDetails struct {
	Name string `json:"name,omitempty"`
	Kind string `json:"kind,omitempty"`
}

// quota is one quota of the cell as a cluster shows it.
func (c *cell) quota(name string, used flowclient.Quantities) (q resourceQuota) {
	q.Metadata = objectMeta{
		Name: name, Namespace: c.Namespace, Labels: c.Labels, CreationTimestamp: c.since,
		UID:             uuid.NewSHA1(uuid.NameSpaceURL, []byte(c.Namespace+"/resourcequotas/"+name+"/"+c.since.Format(time.RFC3339))).String(),
		ResourceVersion: strconv.FormatInt(c.version, 10),
	}
	q.Spec.Hard, q.Status.Hard = c.Quotas[name], c.Quotas[name]
	q.Status.Used = make(map[string]string, len(q.Spec.Hard))
	for resource := range q.Spec.Hard {
		of := flowclient.QuotaResource(resource)
		q.Status.Used[resource] = flowclient.FormatQuantity(of, used[of])
	}
	return q
}

// quotaPath is the one path, with its parameter.
const quotaPath = "/api/v1/namespaces/{namespace}/resourcequotas"

// Handler answers what a cluster's API server answers of the cells' quotas. It
// reads alone, and asks for no token: it is for listeners that nobody else reaches.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, handle := range map[string]http.HandlerFunc{quotaPath: s.listQuotas, quotaPath + "/{name}": s.showQuota} {
		mux.HandleFunc("GET "+path, handle)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "quotas are read here; change them in the project or its ProjectReleaseBinding", "")
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "NotFound", web.Echo(r.URL.Path)+" is not served: only the quotas of namespaces are", "")
	})
	return mux
}

// refuse answers with a Status. Every path is about quotas.
func refuse(w http.ResponseWriter, code int, reason, message, name string) {
	web.JSON(w, code, failure{Kind: "Status", APIVersion: "v1", Status: "Failure", Message: message, Reason: reason,
		Details: failureDetails{Name: name, Kind: "resourcequotas"}, Code: code})
}

// listQuotas answers the quotas of a namespace, in pages where ?limit asks for
// them; a namespace that does not exist has none.
func (s *Server) listQuotas(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	for _, parameter := range slices.Sorted(maps.Keys(query)) {
		if parameter != "limit" && parameter != "continue" {
			refuse(w, http.StatusBadRequest, "BadRequest", "the parameter "+web.Echo(parameter)+" is not served: limit and continue are", "")
			return
		}
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if query.Has("limit") && (err != nil || limit < 0) {
		refuse(w, http.StatusBadRequest, "BadRequest", "limit "+web.Echo(query.Get("limit"))+" must be a number that is not negative", "")
		return
	}
	after, err := base64.RawURLEncoding.DecodeString(query.Get("continue"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "BadRequest", "continue is not what a list answered", "")
		return
	}
	all, version := s.cells.quotas(r.PathValue("namespace"))
	all = slices.DeleteFunc(all, func(q resourceQuota) bool { return q.Metadata.Name <= string(after) && len(after) > 0 })
	list := resourceQuotaList{Kind: "ResourceQuotaList", APIVersion: "v1", Items: []resourceQuota{}, Metadata: listMeta{ResourceVersion: strconv.FormatInt(version, 10)}}
	if limit > 0 && len(all) > limit {
		list.Metadata.RemainingItemCount = len(all) - limit
		list.Metadata.Continue = base64.RawURLEncoding.EncodeToString([]byte(all[limit-1].Metadata.Name))
		all = all[:limit]
	}
	list.Items = append(list.Items, all...)
	web.JSON(w, http.StatusOK, list)
}

// showQuota answers one quota.
func (s *Server) showQuota(w http.ResponseWriter, r *http.Request) {
	all, _ := s.cells.quotas(r.PathValue("namespace"))
	for _, q := range all {
		if q.Metadata.Name == r.PathValue("name") {
			q.Kind, q.APIVersion = "ResourceQuota", "v1"
			web.JSON(w, http.StatusOK, q)
			return
		}
	}
	name := web.Echo(strings.ToValidUTF8(r.PathValue("name"), ""))
	refuse(w, http.StatusNotFound, "NotFound", "resourcequotas \""+name+"\" not found", name)
}
