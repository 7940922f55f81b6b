package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// rewriteAbove is the number of lines above which a file is rewritten once most of its
// lines are outdated.
const rewriteAbove = 1000

// log is a file of lines, locked for one process.
type log struct {
	path   string
	file   *os.File
	lock   *os.File
	size   int64 // of the complete lines
	lines  int
	broken error // the file may end in a partial line
}

// openLog locks and reads the file.
func openLog(path string, apply func(record)) (*log, error) {
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, err
	}
	l := &log{path: path, lock: lock}
	if l.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, errors.Join(err, l.close())
	}
	err = l.file.Chmod(0o600)
	if err == nil {
		err = l.read(apply)
	}
	if err == nil {
		err = syncFolder(path) // the file may be new
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// read applies all lines and removes a partial last one.
func (l *log) read(apply func(record)) error {
	for r := bufio.NewReader(l.file); ; l.lines++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return l.cut()
		}
		if err != nil {
			return err
		}
		var one record
		if err := json.Unmarshal(line, &one); err != nil {
			rest, _ := r.Peek(1)
			if len(rest) == 0 { // the end of a write that a power failure interrupted
				return l.cut()
			}
			return fmt.Errorf("line %d is malformed", l.lines+1) // without its text, which is secret
		}
		apply(one)
		l.size += int64(len(line))
	}
}

// cut removes what follows the complete lines.
func (l *log) cut() error {
	if err := l.file.Truncate(l.size); err != nil {
		return err
	}
	_, err := l.file.Seek(l.size, io.SeekStart)
	return err
}

// append writes a line. After an error the file has none of it, or the log is broken.
func (l *log) append(r record, durable bool) error {
	if l.broken != nil {
		return l.broken
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	_, err = l.file.Write(line)
	if err == nil && durable {
		if err = l.file.Sync(); err != nil {
			l.broken = err // what the file holds is unknown
			return err
		}
	}
	if err != nil {
		l.broken = l.cut()
		return err
	}
	l.size += int64(len(line))
	l.lines++
	return nil
}

// grown reports whether most lines are outdated.
func (l *log) grown(entries int) bool { return l.lines > rewriteAbove && l.lines > 4*(entries+1) }

// rewrite replaces the file. If that fails, the old file stays in use.
func (l *log) rewrite(records []record) error {
	var text bytes.Buffer
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	next, err := os.OpenFile(l.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = next.Write(text.Bytes())
	if err == nil {
		err = next.Sync()
	}
	if err == nil {
		err = os.Rename(l.path+".new", l.path)
	}
	if err != nil {
		return errors.Join(err, next.Close())
	}
	old := l.file
	l.file, l.size, l.lines = next, int64(text.Len()), len(records)
	if err := syncFolder(l.path); err != nil {
		l.broken = err
		return err
	}
	return old.Close()
}

// close closes the file and unlocks it.
func (l *log) close() (err error) {
	if l.file != nil {
		err = l.file.Close()
	}
	if l.lock != nil {
		err = errors.Join(err, l.lock.Close())
	}
	l.file, l.lock, l.broken = nil, nil, os.ErrClosed
	return err
}

func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
