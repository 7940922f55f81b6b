package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/agent"
)

// ErrLocked reports that another process has opened the journal.
var ErrLocked = errors.New("another process uses the journal")

// errNotHeld reports a purchase that the caller does not hold.
var errNotHeld = errors.New("the purchase is not held")

// File is a journal in a file that one process uses at a time. It appends and syncs a line
// for each step of a purchase, and rewrites the file when most lines are outdated. It is
// safe for concurrent use.
type File struct {
	mu    sync.Mutex
	log   *log
	total int64 // of all purchases, including forgotten ones
	all   map[string]agent.JournalEntry
	byKey map[string]string // purchase keys to ids
	held  map[string]bool
}

// OpenFile opens a journal, and creates it with mode 0600 unless it exists. It also creates
// path + ".lock", which it locks until Close. A last line that was not written completely
// is removed. It returns [ErrLocked], an error that names the first malformed line, and
// errors of the file.
func OpenFile(path string) (*File, error) {
	f := &File{all: map[string]agent.JournalEntry{}, byKey: map[string]string{}, held: map[string]bool{}}
	opened, err := openLog(path, f.apply)
	if err != nil {
		return nil, fmt.Errorf("journal: open %s: %w", path, err)
	}
	f.log = opened
	for id, e := range f.all {
		if e.State != agent.PurchaseBegun {
			continue
		}
		if err := f.write(record{Forget: id}, false); err != nil { // its process ended before it was sent
			return nil, errors.Join(fmt.Errorf("journal: open %s: %w", path, err), f.Close())
		}
	}
	return f, nil
}

// Close closes the file and unlocks it. It may be called more than once.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.close()
}

// record is a line of the file. One field is set.
type record struct {
	Total  *int64              `json:"total,omitempty"` // spent before the next lines, by purchases that are not listed
	Entry  *agent.JournalEntry `json:"entry,omitempty"`
	Forget string              `json:"forget,omitempty"` // was not sent: its amount is given back
	Expire string              `json:"expire,omitempty"` // is deleted: its amount stays spent
}

// apply changes the state as a line says.
func (f *File) apply(r record) {
	switch {
	case r.Total != nil:
		f.total += *r.Total
	case r.Forget != "":
		f.total -= f.all[r.Forget].AmountMicros
		f.remove(r.Forget)
	case r.Expire != "":
		f.remove(r.Expire)
	case r.Entry != nil:
		e := *r.Entry
		old, known := f.all[e.ID]
		if !known {
			f.total += e.AmountMicros
		}
		if old.Key != e.Key && f.byKey[old.Key] == e.ID {
			delete(f.byKey, old.Key)
		}
		if e.Key != "" {
			f.byKey[e.Key] = e.ID
		}
		f.all[e.ID] = e
	}
}

func (f *File) remove(id string) {
	if key := f.all[id].Key; key != "" && f.byKey[key] == id {
		delete(f.byKey, key)
	}
	delete(f.all, id)
	delete(f.held, id)
}

// write appends a line and applies it. The file is rewritten if it has grown enough.
func (f *File) write(r record, durable bool) error {
	if err := f.log.append(r, durable); err != nil {
		return err
	}
	f.apply(r)
	if !f.log.grown(len(f.all)) {
		return nil
	}
	rest := f.total
	for _, e := range f.all {
		rest -= e.AmountMicros
	}
	lines := []record{{Total: &rest}}
	for _, e := range f.sorted() {
		lines = append(lines, record{Entry: &e})
	}
	if err := f.log.rewrite(lines); err != nil && f.log.broken != nil {
		return err
	}
	return nil // if only the rewriting failed, the file has the line, and the next write tries again
}

// sorted returns all purchases, oldest first.
func (f *File) sorted() []agent.JournalEntry {
	return slices.SortedFunc(maps.Values(f.all), func(a, b agent.JournalEntry) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// Find implements [agent.Journal].
func (f *File) Find(_ context.Context, key, request string, now time.Time) (*agent.JournalEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if key != "" {
		id, ok := f.byKey[key]
		switch {
		case !ok:
			return nil, nil
		case f.held[id]:
			return nil, agent.ErrPurchaseBusy
		}
		return f.hold(f.all[id]), nil
	}
	var found *agent.JournalEntry
	for id, e := range f.all {
		if e.Request == request && e.Key == "" && !f.held[id] && open(e.State) && now.Before(e.Until) && (found == nil || e.At.Before(found.At)) {
			found = &e
		}
	}
	if found == nil {
		return nil, nil
	}
	return f.hold(*found), nil
}

func (f *File) hold(e agent.JournalEntry) *agent.JournalEntry {
	f.held[e.ID] = true
	return &e
}

// open reports whether a purchase was sent and not finished.
func open(s agent.PurchaseState) bool { return s != agent.PurchaseBegun && !s.Finished() }

// Begin implements [agent.Journal]. It returns errors of the file.
func (f *File) Begin(_ context.Context, e agent.JournalEntry, limits agent.SpendingLimits) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Key != "" && f.byKey[e.Key] != "" {
		return agent.ErrPurchaseBusy
	}
	for id, old := range f.all {
		if !f.held[id] && e.At.After(old.ForgetAfter) {
			r := record{Expire: id}
			if old.State == agent.PurchaseFunding {
				r = record{Forget: id}
			}
			if err := f.write(r, false); err != nil {
				return fmt.Errorf("journal: %w", err)
			}
		}
	}
	err := limits.Check(e.At, e.AmountMicros, f.total, func(after time.Time) (count int, sum int64, _ error) {
		for _, old := range f.all {
			if old.At.After(after) {
				count, sum = count+1, sum+old.AmountMicros
			}
		}
		return count, sum, nil
	})
	if err != nil {
		return err
	}
	// It is not synced: a purchase that was not sent is worth nothing after a restart.
	if err := f.write(record{Entry: &e}, false); err != nil {
		return fmt.Errorf("journal: begin a purchase: %w", err)
	}
	f.held[e.ID] = true
	return nil
}

// Record implements [agent.Journal]. It returns errors of the file.
func (f *File) Record(_ context.Context, e agent.JournalEntry, release bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.held[e.ID] {
		return fmt.Errorf("journal: record %s: %w", e.ID, errNotHeld)
	}
	if err := f.write(record{Entry: &e}, true); err != nil {
		return fmt.Errorf("journal: record %s: %w", e.ID, err)
	}
	if release {
		delete(f.held, e.ID)
	}
	return nil
}

// Forget implements [agent.Journal]. It returns errors of the file.
func (f *File) Forget(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.held[id] {
		return fmt.Errorf("journal: forget %s: %w", id, errNotHeld)
	}
	if err := f.write(record{Forget: id}, false); err != nil {
		return fmt.Errorf("journal: forget %s: %w", id, err)
	}
	return nil
}

// Unfinished implements [agent.Journal].
func (f *File) Unfinished(context.Context) ([]agent.JournalEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(f.sorted(), func(e agent.JournalEntry) bool { return f.held[e.ID] || !open(e.State) }), nil
}

var _ agent.Journal = (*File)(nil)
