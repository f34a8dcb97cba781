package workflow

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestADescriptorBecomesAWorkload(t *testing.T) {
	var d descriptor
	require.NoError(t, strictYAML([]byte(`
endpoints:
  http: {type: HTTP, port: 3000, basePath: /shop, visibility: [external]}
  live: {type: Websocket, port: 3001}
command: [bundle, exec]
args: [puma]
env:
  - {key: RAILS_ENV, value: production}
`), &d))
	var w flowclient.WorkloadSpec
	require.NoError(t, d.into(&w))
	assert.Equal(t, flowclient.WorkloadSpec{
		Container: flowclient.Container{Command: []string{"bundle", "exec"}, Args: []string{"puma"},
			Env: []flowclient.EnvVar{{Key: "RAILS_ENV", Value: "production"}}},
		Endpoints: map[string]flowclient.Endpoint{
			"http": {Type: "HTTP", Port: 3000, BasePath: "/shop", Visibility: []string{"external"}},
			"live": {Type: "Websocket", Port: 3001},
		},
	}, w)
}

func TestADescriptorIsReadStrictly(t *testing.T) {
	for _, c := range []struct{ name, body, reason string }{
		{"nothing", "", "it is empty"},
		{"an unknown field", "image: x\n", `field "image" is unknown`},
		{"no endpoint", "command: [sh]\n", `endpoints "0": there must be 1 to 16`},
		{"a name that cannot stand in a path", "endpoints: {a/b: {type: HTTP, port: 1}}\n", `endpoints "a/b": a name must be`},
		{"an unknown type", "endpoints: {http: {type: http, port: 1}}\n", `endpoints.http.type "http": must be one of HTTP`},
		{"no port", "endpoints: {http: {type: HTTP}}\n", `endpoints.http.port "0": must be 1 to 65535`},
		{"a port beyond the last", "endpoints: {http: {type: HTTP, port: 70000}}\n", `endpoints.http.port "70000": must be`},
		{"a port that is a word", "endpoints: {http: {type: HTTP, port: web}}\n", "cannot unmarshal"},
		{"a base path without its slash", "endpoints: {http: {type: HTTP, port: 1, basePath: x}}\n", `endpoints.http.basePath "x": must be`},
		{"a base path that climbs", "endpoints: {http: {type: HTTP, port: 1, basePath: /x/../y}}\n", `endpoints.http.basePath "/x/../y": must be`},
		{"an unknown visibility", "endpoints: {http: {type: HTTP, port: 1, visibility: [all]}}\n", `endpoints.http.visibility "all": must be`},
		{"a variable that is none", "endpoints: {http: {type: HTTP, port: 1}}\nenv: [{key: 'A=B', value: c}]\n", `env.key "A=B": must be`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d descriptor
			err := strictYAML([]byte(c.body), &d)
			if err == nil {
				err = d.into(&flowclient.WorkloadSpec{})
			}
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.reason)
		})
	}
}
