package main

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/paywarrant/paywarrant/client"
)

type versionCmd struct {
	JSON bool `help:"Print one line of JSON." name:"json"`
}

// Run prints the version, and the commit if the build knows it.
func (c versionCmd) Run(o output) error {
	if c.JSON {
		return json.NewEncoder(o.out).Encode(struct {
			Version string `json:"version"`
			Commit  string `json:"commit,omitempty"`
		}{client.Version, commit()})
	}
	_, err := fmt.Fprintln(o.out, version())
	return err
}

// version is the line about the program.
func version() string {
	text := "paywarrant " + client.Version
	if c := commit(); c != "" {
		text += " " + c
	}
	return text
}

func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
