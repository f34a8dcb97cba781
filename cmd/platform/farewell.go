package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server"
)

// farewell says where to look next and what to type. project is what the
// walkthrough made, empty where there was none.
func farewell(ctx context.Context, t terminal, p *server.Platform, project string) {
	delivery, err := p.Flow().Delivery(ctx)
	if err != nil {
		delivery.Components = nil // what is printed here is a convenience: its absence says enough
	}
	made := slices.DeleteFunc(delivery.Components, func(c flowclient.ComponentDelivery) bool { return c.Project != project })
	look := [][2]string{{"chat", address(p, "chat")}, {"builds", address(p, "workflow")}, {"git", address(p, "git")}}
	for _, c := range made {
		for _, e := range c.Environments {
			look = append(look, [2]string{e.Environment, e.URL})
		}
	}
	fmt.Fprintln(t.Out, "Look next, in a browser:")
	for _, l := range look {
		fmt.Fprintf(t.Out, "  %-12s%s\n", l[0], l[1])
	}
	for _, c := range made {
		fmt.Fprintf(t.Out, "\nClone it, change the page and push; staging follows:\n  git clone -c credential.helper='store --file=%s' \\\n    %s\n",
			p.Path("git-credentials"), c.Repository)
	}
	chat := os.Args[0] + " chat" + dataFlag(p.Path())
	fmt.Fprintf(t.Out, "\nTalk to it, in another terminal:\n")
	for _, line := range [][2]string{
		{"", "    # read along and type"}, {" '@platform help'", ""}, {" '@walkthrough teardown'", ""},
	} {
		place := " --stream walkthroughs --topic hello"
		if line[0] == "" {
			place = ""
		}
		fmt.Fprintf(t.Out, "  %s%s%s%s\n", chat, place, line[0], line[1])
	}
	fmt.Fprintln(t.Out, "\nServing until Ctrl-C.")
}

// address is a surface's base URL.
func address(p *server.Platform, name string) string {
	all := p.Surfaces()
	if i := slices.IndexFunc(all, func(a server.Address) bool { return a.Name == name }); i >= 0 {
		return all[i].URL
	}
	return ""
}

// dataFlag names the data directory for a command typed here, as short as it can be said.
func dataFlag(dir string) string {
	short := dir
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, dir); err == nil && !strings.HasPrefix(rel, "..") {
			short = rel
		}
	}
	if short == ".platform" {
		return ""
	}
	return " --data " + short
}
