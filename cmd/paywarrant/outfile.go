package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// checkFile returns a usage error if a flag cannot name a file to write.
func checkFile(flag, path string) error {
	if path == "" {
		return nil
	}
	switch info, err := os.Lstat(path); {
	case err == nil && !info.Mode().IsRegular():
		return usage("%s: %s is not a regular file", flag, path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return usage("%s: %w", flag, err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return usage("%s: there is no folder %s", flag, filepath.Dir(path))
	}
	return nil
}

// writeOut writes to out, or to the file at path if that is not empty. The file appears, or
// replaces an older one, only after write has returned nil and its bytes are on disk. Only
// the owner may read it.
func writeOut(path string, out io.Writer, write func(io.Writer) error) error {
	if path == "" {
		return write(out)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
