package main

import (
	"io/fs"
	"slices"
)

// contractSources is the contracts' folder without what is installed or built.
type contractSources struct{ fs.FS }

func (c contractSources) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(c.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return name == "." && slices.Contains([]string{"node_modules", "coverage", "cache", "artifacts"}, e.Name())
	}), err
}
