// Package records defines what the chain rail needs of a store: texts under a kind
// and a key, in serial transactions. The sqlite and postgres packages implement it,
// and storetest tests an implementation.
package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Store keeps the rail's records. Transactions are serial over all instances that
// share the store, and the writes of a transaction are on disk when Update returns.
// The rail treats every error of a store as an unknown outcome.
type Store interface {
	// Update runs a function and commits its writes if it returns nil. Otherwise
	// Update commits nothing and returns the function's error. The function may run
	// more than once.
	Update(ctx context.Context, run func(Tx) error) error
	// View runs a function that only reads, on one snapshot of the store.
	View(ctx context.Context, run func(Tx) error) error
	// Close closes the store. It may be called twice.
	Close() error
}

// Tx reads and writes records within a transaction.
type Tx interface {
	// Get returns a record, and reports whether it exists.
	Get(kind, key string) (value []byte, found bool, err error)
	// Put writes a record.
	Put(kind, key string, value []byte) error
	// Delete removes a record if it exists.
	Delete(kind, key string) error
	// List returns up to limit records of a kind, in key order, whose keys sort
	// after the given one.
	List(kind, after string, limit int) ([]Record, error)
}

// Record is a record that List returned.
type Record struct {
	// Key is the record's key, unique within its kind.
	Key string
	// Value is the record's text.
	Value []byte
}

// ErrDamaged reports a record that is missing or that the rail did not write.
var ErrDamaged = errors.New("chain: record is damaged")

// Get decodes a record, and reports whether it exists.
func Get[T any](tx Tx, kind, key string) (value T, found bool, err error) {
	text, found, err := tx.Get(kind, key)
	if err != nil || !found {
		return value, false, err
	}
	value, err = Decode[T](kind, Record{Key: key, Value: text})
	return value, err == nil, err
}

// Put encodes a value and writes it as a record.
func Put[T any](tx Tx, kind, key string, value T) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", kind, key, err)
	}
	return tx.Put(kind, key, text)
}

// Load decodes a record in a transaction of its own.
func Load[T any](ctx context.Context, s Store, kind, key string) (value T, found bool, err error) {
	err = s.View(ctx, func(tx Tx) (err error) {
		value, found, err = Get[T](tx, kind, key)
		return err
	})
	if err != nil {
		return value, false, fmt.Errorf("read %s: %w", kind, err)
	}
	return value, found, nil
}

// List returns up to limit records of a kind in a transaction of its own, as
// [Tx.List] does.
func List(ctx context.Context, s Store, kind, after string, limit int) (list []Record, err error) {
	err = s.View(ctx, func(tx Tx) (err error) {
		list, err = tx.List(kind, after, limit)
		return err
	})
	return list, err
}

// Decode decodes a record that List returned. The error wraps [ErrDamaged].
func Decode[T any](kind string, r Record) (value T, err error) {
	if err := json.Unmarshal(r.Value, &value); err != nil {
		return value, fmt.Errorf("%s %s: %w: %w", kind, r.Key, ErrDamaged, err)
	}
	return value, nil
}
