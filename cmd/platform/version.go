package main

import (
	"fmt"
	"runtime/debug"
)

type versionCmd struct{}

// Run prints the version that the Go toolchain stamped into the binary.
func (versionCmd) Run(t terminal) error {
	version, revision := "devel", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
		revision += " " + info.GoVersion
	}
	_, err := fmt.Fprintf(t.Out, "platform %s%s\n", version, revision)
	return err
}
