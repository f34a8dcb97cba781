// Command testall runs every test with `go test -json` and shows what a person
// wants to see: a line per package, the whole output of what failed, and the
// tests that were skipped. The skipped ones must be those of a committed list,
// so that a test never stops running unnoticed.
//
// It knows nothing of what is tested.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	list := flag.String("skips", "fixtures/skips.txt", "the committed list of tests that may be skipped")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	args := flag.Args()
	if len(args) == 0 {
		args = []string{"-timeout", "15m", "./..."}
	}
	if err := run(ctx, os.Stdout, *list, args); err != nil {
		fmt.Fprintln(os.Stderr, "testall:", err)
		stop()
		os.Exit(1)
	}
}

// event is one line of `go test -json`.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// results is what a whole run said.
type results struct {
	output  map[string]*bytes.Buffer // by package and test
	skipped []string
	passed  int
	failed  int
}

func run(ctx context.Context, out io.Writer, list string, args []string) error {
	allowed, err := readList(list)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := results{output: map[string]*bytes.Buffer{}}
	lines := bufio.NewScanner(pipe)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text())
			continue
		}
		r.add(out, e)
	}
	failed := cmd.Wait()
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, len(r.skipped))
	if failed != nil {
		return fmt.Errorf("go test: %w", failed)
	}
	if r.failed > 0 {
		return fmt.Errorf("%d tests failed", r.failed)
	}
	return compare(out, r.skipped, allowed)
}

// add takes one event in and prints what it completes.
func (r *results) add(out io.Writer, e event) {
	key := e.Package + e.ImportPath + " " + e.Test
	buf := r.output[key]
	if buf == nil {
		buf = &bytes.Buffer{}
		r.output[key] = buf
	}
	switch e.Action {
	case "output", "build-output":
		buf.WriteString(e.Output)
		return
	case "pass", "fail", "skip", "build-fail":
		delete(r.output, key)
	default:
		return
	}
	switch {
	case e.Action == "build-fail":
		fmt.Fprint(out, buf.String())
	case e.Test == "":
		r.finish(out, e, buf.String())
	case e.Action == "pass":
		r.passed++
	case e.Action == "skip":
		r.skipped = append(r.skipped, e.Package+" "+e.Test)
	default:
		r.failed++
		fmt.Fprint(out, buf.String())
	}
}

// finish prints a package's own line, and the rest of its output when it failed.
func (r *results) finish(out io.Writer, e event, output string) {
	if e.Action == "fail" {
		fmt.Fprint(out, output)
		return
	}
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "ok") || strings.HasPrefix(line, "?") {
			fmt.Fprint(out, line)
		}
	}
}

// compare tells the skipped tests that the list does not allow. A listed test
// that ran is fine: whoever runs it had what it needs.
func compare(out io.Writer, skipped []string, allowed map[string]bool) error {
	slices.Sort(skipped)
	unknown := 0
	for _, s := range skipped {
		if !allowed[s] {
			unknown++
			fmt.Fprintf(out, "skipped, and not on the list: %s\n", s)
		}
	}
	if unknown > 0 {
		return fmt.Errorf("%d tests were skipped that the committed list does not name", unknown)
	}
	return nil
}

// readList reads "package test" lines; # starts a comment.
func readList(path string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("list of skips: %w", err)
	}
	allowed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) == 2 {
			allowed[strings.Join(fields, " ")] = true
		}
	}
	return allowed, nil
}
