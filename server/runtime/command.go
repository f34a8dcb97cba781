package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// spec is what one version of a deployment runs.
type spec struct {
	id        string // of all that follows: equal ids run the same
	name      string
	component string
	image     string // reference by digest
	tree      tree   // never run in: each process gets a copy of its files
	argv      []string
	env       map[string]string
	plan      plan
	memory    int64 // bytes; 0: no limit
}

// standardPath is PATH where neither the image nor the workload sets it, as
// container engines have it.
const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// variable is a name that every shell passes on.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// specOf puts together what d runs from its workload and its image, or says why it cannot run.
func specOf(d Deployment, p plan, t tree) (spec, error) {
	c := d.Workload.Container
	argv := slices.Concat(c.Command, c.Args)
	if len(c.Command) == 0 {
		// As in Kubernetes: args alone take the place of the image's Cmd.
		args := t.image.Cmd
		if len(c.Args) > 0 {
			args = c.Args
		}
		argv = slices.Concat(t.image.Entrypoint, args)
	}
	if len(argv) == 0 || argv[0] == "" {
		return spec{}, because(ReasonCommandInvalid, "image %s names no command (Entrypoint or Cmd) and neither does the workload of %s: give container.command", c.Image, d.Component)
	}
	env := map[string]string{"PATH": standardPath}
	for _, pair := range t.image.Env {
		if key, value, ok := strings.Cut(pair, "="); ok && variable.MatchString(key) {
			env[key] = value
		}
	}
	for _, v := range c.Env {
		if !variable.MatchString(v.Key) || strings.ContainsRune(v.Value, 0) {
			return spec{}, because(ReasonEnvironmentInvalid, "workload of %s sets the variable %q: use letters, digits and underscores, no digit first, and a value without zero bytes", d.Component, v.Key)
		}
		env[v.Key] = v.Value
	}
	if slices.ContainsFunc(argv, func(a string) bool { return strings.ContainsRune(a, 0) }) {
		return spec{}, because(ReasonCommandInvalid, "command of %s holds a zero byte", d.Component)
	}
	sp := spec{
		name: d.Name, component: d.Component, image: c.Image, tree: t,
		argv: argv, env: env, plan: p, memory: d.Memory,
	}
	sp.id = sp.identity()
	_, err := sp.program(t.files)
	return sp, err
}

// identity is a digest of what makes a version: an Apply that changes none of it starts nothing.
func (sp spec) identity() string {
	type route struct{ Endpoint, Prefix, Base string }
	routes := make([]route, len(sp.plan.routes))
	for i, r := range sp.plan.routes {
		routes[i] = route{r.endpoint, r.prefix, r.base}
	}
	text, err := json.Marshal([]any{sp.component, sp.image, sp.argv, sp.env, sp.plan.host, routes, sp.memory})
	if err != nil {
		return "" // never: strings and numbers alone
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// program finds the file of the command among the files of the image, which
// lie in root, and then on this machine: a path as it stands (a relative one
// from the working directory), a bare name through PATH.
func (sp spec) program(root string) (string, error) {
	name := sp.argv[0]
	var places []string
	switch {
	case filepath.IsAbs(name):
		places = []string{inside(root, name), name}
	case strings.Contains(name, "/"):
		places = []string{inside(root, sp.tree.image.WorkingDir+"/"+name)}
	default:
		for _, tree := range []bool{true, false} {
			for _, dir := range filepath.SplitList(sp.env["PATH"]) {
				switch {
				case !filepath.IsAbs(dir):
				case tree:
					places = append(places, inside(root, dir+"/"+name))
				default:
					places = append(places, filepath.Join(dir, name))
				}
			}
		}
	}
	for _, place := range places {
		if info, err := os.Stat(place); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return place, nil
		}
	}
	return "", because(ReasonCommandInvalid, "command %q of image %s is no program: neither in the image (working directory %q) nor on this machine (PATH %s)",
		name, sp.image, "/"+sp.tree.image.WorkingDir, sp.env["PATH"])
}

// inside is where a path of the image lies when its files lie in root.
func inside(root, path string) string { return filepath.Join(root, filepath.Clean("/"+path)) }

// environ is the whole environment of a process whose files lie in root: what
// image and workload set, and what this runtime tells it.
func (sp spec) environ(root, port, mark string) []string {
	env := map[string]string{"HOME": inside(root, sp.tree.image.WorkingDir), "TMPDIR": inside(root, "tmp")}
	maps.Copy(env, sp.env)
	maps.Copy(env, map[string]string{"HOST": loopback, "PORT": port, markVariable: mark})
	pairs := make([]string, 0, len(env))
	for _, key := range slices.Sorted(maps.Keys(env)) {
		pairs = append(pairs, key+"="+env[key])
	}
	return pairs
}
