package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// envMark is the first line of a file of --env.
const envMark = "# Written by paywarrant dev, which removes it at exit.\n"

// envFile is the file of --env. It is replaced and removed only if dev wrote it, or if it is
// empty.
type envFile struct {
	path string // empty: there is none
	text []byte // as written; nil before
}

// check returns a usage error if the file cannot be written.
func (f *envFile) check() error {
	if err := checkFile("--env", f.path); err != nil {
		return err
	}
	text, err := f.read()
	if err == nil && !f.replaceable(text) {
		return usage("--env: %s exists, and paywarrant dev did not write it: name another file, or remove it", f.path)
	}
	return err
}

// read returns what the file holds, nil if there is none.
func (f *envFile) read() ([]byte, error) {
	if f.path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

func (f *envFile) replaceable(text []byte) bool {
	return len(text) == 0 || bytes.HasPrefix(text, []byte(envMark))
}

// clear removes the file of an earlier sandbox, so that a program that waits for the file gets
// that of this one.
func (f *envFile) clear() error {
	text, err := f.read()
	if err != nil || len(text) == 0 {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	return os.Remove(f.path)
}

// write writes the variables that have a value.
func (f *envFile) write(variables []fact) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.replace(variables)
}

// replace writes the variables, whatever the file holds.
func (f *envFile) replace(variables []fact) error {
	var b strings.Builder
	b.WriteString(envMark)
	for _, v := range variables {
		if v.Value != "" {
			b.WriteString("export " + v.Name + "=" + v.Value + "\n")
		}
	}
	f.text = []byte(b.String())
	return writeOut(f.path, nil, func(w io.Writer) error {
		_, err := w.Write(f.text)
		return err
	})
}

// remove removes the file if it is as it was written.
func (f *envFile) remove() error {
	text, err := f.read()
	if err != nil || f.text == nil || !bytes.Equal(text, f.text) {
		return err
	}
	return os.Remove(f.path)
}
