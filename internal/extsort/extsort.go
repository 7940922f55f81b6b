// Package extsort sorts more lines than fit in memory: it writes sorted runs to temporary
// files and merges them.
package extsort

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// defaultMemory is the default of [Sorter.Memory].
const defaultMemory = 16 << 20

// Sorter sorts lines. Its zero value is ready to use. It is not safe for concurrent use.
type Sorter struct {
	// Dir is the folder of the temporary files. Default: that of the system.
	Dir string
	// Memory limits the lines that are held in memory, in bytes. Default: 16 MiB.
	Memory int

	lines []string
	size  int
	runs  []*os.File
}

// overhead is the memory of a line besides its text.
const overhead = 16

// Add adds a line, which must not contain a line feed.
func (s *Sorter) Add(line string) error {
	if strings.Contains(line, "\n") {
		return errors.New("extsort: line contains a line feed")
	}
	if s.Memory == 0 {
		s.Memory = defaultMemory
	}
	if s.size += len(line) + overhead; s.size > s.Memory && len(s.lines) > 0 {
		if err := s.spill(); err != nil {
			return fmt.Errorf("extsort: write run: %w", err)
		}
		s.size = len(line) + overhead
	}
	s.lines = append(s.lines, line)
	return nil
}

// spill writes the lines in memory to a new file.
func (s *Sorter) spill() error {
	slices.Sort(s.lines)
	f, err := os.CreateTemp(s.Dir, "paywarrant-sort-")
	if err != nil {
		return err
	}
	s.runs = append(s.runs, f)
	w := bufio.NewWriterSize(f, 1<<16)
	for _, line := range s.lines {
		if _, err := w.WriteString(line + "\n"); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	clear(s.lines)
	s.lines = s.lines[:0]
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// Each calls yield with every line in order, once. It returns the error of yield.
func (s *Sorter) Each(yield func(line string) error) error {
	slices.Sort(s.lines)
	m := merge{{next: fromMemory(s.lines)}}
	for _, f := range s.runs {
		m = append(m, &run{next: fromFile(f)})
	}
	for i := 0; i < len(m); {
		more, err := m[i].advance()
		if err != nil {
			return err
		}
		if more {
			i++
			continue
		}
		m = slices.Delete(m, i, i+1)
	}
	heap.Init(&m)
	for len(m) > 0 {
		if err := yield(m[0].line); err != nil {
			return err
		}
		more, err := m[0].advance()
		if err != nil {
			return err
		}
		if more {
			heap.Fix(&m, 0)
		} else {
			heap.Pop(&m)
		}
	}
	return nil
}

// Close removes the temporary files. It may be called twice.
func (s *Sorter) Close() error {
	var all error
	for _, f := range s.runs {
		all = errors.Join(all, f.Close(), os.Remove(f.Name()))
	}
	s.runs, s.lines = nil, nil
	return all
}

// run is a sorted sequence of lines.
type run struct {
	line string
	next func() (line string, more bool, err error)
}

func (r *run) advance() (more bool, err error) {
	r.line, more, err = r.next()
	return more, err
}

func fromMemory(lines []string) func() (string, bool, error) {
	return func() (string, bool, error) {
		if len(lines) == 0 {
			return "", false, nil
		}
		line := lines[0]
		lines = lines[1:]
		return line, true, nil
	}
}

func fromFile(f *os.File) func() (string, bool, error) {
	r := bufio.NewReaderSize(f, 1<<16)
	return func() (string, bool, error) {
		line, err := r.ReadString('\n')
		switch {
		case err == io.EOF && line == "":
			return "", false, nil
		case err != nil:
			return "", false, fmt.Errorf("extsort: read run: %w", err)
		}
		return strings.TrimSuffix(line, "\n"), true, nil
	}
}

// merge is a heap of runs by their current line.
type merge []*run

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, j int) bool { return m[i].line < m[j].line }
func (m merge) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)        { *m = append(*m, x.(*run)) } //nolint:forcetypeassert // heap.Init adds none
func (m *merge) Pop() any {
	old := *m
	last := old[len(old)-1]
	*m = old[:len(old)-1]
	return last
}
