package main

import (
	"fmt"
	"runtime/debug"

	"github.com/paywarrant/paywarrant/client"
)

type versionCmd struct{}

// Run prints the version, and the commit where the build knows it.
func (versionCmd) Run(o output) error {
	commit := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = " " + s.Value
			}
		}
	}
	_, err := fmt.Fprintf(o.out, "paywarrant %s%s\n", client.Version, commit)
	return err
}
