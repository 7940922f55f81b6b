package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/paywarrant/paywarrant/internal/text"
)

// decimal is a number that may be negative, and is no formula.
type decimal string

// tableWriter writes rows as CSV by RFC 4180, or as JSON Lines.
type tableWriter[R any] struct {
	columns []column[R]
	to      *bufio.Writer
	csv     *csv.Writer // nil for JSON Lines
	cells   []string
	names   [][]byte // the names as JSON
	line    []byte
}

// newTableWriter returns a writer in a format, "csv" or "jsonl". For CSV it writes the names
// of the columns.
func newTableWriter[R any](w io.Writer, format string, columns []column[R]) (*tableWriter[R], error) {
	t := &tableWriter[R]{columns: columns, to: bufio.NewWriterSize(w, 1<<16)}
	if format == "jsonl" {
		for _, c := range columns {
			t.names = append(t.names, strconv.AppendQuote(nil, c.name))
		}
		return t, nil
	}
	t.csv = csv.NewWriter(t.to)
	t.csv.UseCRLF = true
	for _, c := range columns {
		t.cells = append(t.cells, c.name)
	}
	return t, t.csv.Write(t.cells)
}

// write writes one row.
func (t *tableWriter[R]) write(r R) error {
	if t.csv == nil {
		return t.writeJSON(r)
	}
	for i, c := range t.columns {
		switch v := c.value(r).(type) {
		case string:
			t.cells[i] = text.Cell(v)
		case int64:
			t.cells[i] = strconv.FormatInt(v, 10)
		case decimal:
			t.cells[i] = string(v)
		case json.RawMessage:
			t.cells[i] = text.Cell(string(v))
		default:
			return fmt.Errorf("column %s: %T is not a value", c.name, v)
		}
	}
	return t.csv.Write(t.cells)
}

func (t *tableWriter[R]) writeJSON(r R) error {
	t.line = append(t.line[:0], '{')
	for i, c := range t.columns {
		if i > 0 {
			t.line = append(t.line, ',')
		}
		value, err := json.Marshal(c.value(r))
		if err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
		t.line = append(append(append(t.line, t.names[i]...), ':'), value...)
	}
	_, err := t.to.Write(append(t.line, "}\n"...))
	return err
}

// flush writes what is buffered.
func (t *tableWriter[R]) flush() error {
	if t.csv != nil {
		if t.csv.Flush(); t.csv.Error() != nil {
			return t.csv.Error()
		}
	}
	return t.to.Flush()
}
