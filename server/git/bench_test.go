package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"platform.dev/platform/flowclient"
)

// BenchmarkPush is a person's `git push` of one file to a repository with one
// hook, until the delivery's row is there: the floor under every delivery.
func BenchmarkPush(b *testing.B) {
	w := begin(b, nil)
	hooks := listenForHooks(b)
	w.seeded("demo")
	w.hook("demo", hooks.URL)
	dir := filepath.Join(b.TempDir(), "work")
	tool(b, "", "clone", "--quiet", w.url("demo", adminToken), dir)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		commitFile(b, dir, "f", fmt.Append(nil, i))
		b.StartTimer()
		tool(b, dir, "push", "--quiet", "origin", "HEAD:main")
	}
}

// BenchmarkClientPush is the port's Push: fetch, commit, push.
func BenchmarkClientPush(b *testing.B) {
	w := begin(b, nil)
	w.seeded("demo")
	client := w.client()
	for i := 0; b.Loop(); i++ {
		if _, err := client.Push(b.Context(), flowclient.Push{Repo: "platform/demo", Key: fmt.Sprint(i), Message: "m", Files: map[string]string{"f": fmt.Sprint(i)}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLocalPush is the limit of both: the same push to a directory.
func BenchmarkLocalPush(b *testing.B) {
	dir := b.TempDir()
	remote, work := filepath.Join(dir, "remote.git"), filepath.Join(dir, "work")
	tool(b, "", "init", "--quiet", "--bare", remote)
	tool(b, "", "init", "--quiet", work)
	tool(b, work, "remote", "add", "origin", remote)
	if err := os.WriteFile(filepath.Join(work, "f"), nil, 0o644); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		commitFile(b, work, "f", fmt.Append(nil, i))
		b.StartTimer()
		tool(b, work, "push", "--quiet", "origin", "HEAD:main")
	}
}
