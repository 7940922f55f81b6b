package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Store keeps the rail's records: texts under a kind and a key. Transactions are
// serial over all instances that share it, and what one wrote is on disk when Update
// returns. Its own errors may be
// anything; the rail takes each for an outcome that is unknown.
type Store interface {
	// Update runs a function whose writes are all kept where it returns nil, and none
	// where it returns an error, which Update returns. The function may run again.
	Update(ctx context.Context, run func(Tx) error) error
	// View runs a function that only reads, from one state of the store.
	View(ctx context.Context, run func(Tx) error) error
	// Close closes the store.
	Close() error
}

// Tx reads and writes records within a transaction.
type Tx interface {
	// Get returns a record; false where there is none.
	Get(kind, key string) (value []byte, found bool, err error)
	// Put writes a record.
	Put(kind, key string, value []byte) error
	// Delete removes a record, if it is there.
	Delete(kind, key string) error
	// List returns the records of a kind whose keys come after one, in order, at
	// most limit.
	List(kind, after string, limit int) ([]Record, error)
}

// Record is one that List found.
type Record struct {
	Key   string
	Value []byte
}

// Kinds of records, and what their keys are.
const (
	kindConnection = "connection" // hash of the reference
	kindGrant      = "grant"      // grant id
	kindCharge     = "charge"     // hash of the reference
	kindSlot       = "slot"       // nonce, of fixed width
	kindOpenSlot   = "open"       // nonce of a slot that the chain has not finally used
	kindLandedSlot = "landed"     // nonce of a slot that a final block has used, for as long as it is watched
	kindTask       = "task"       // what a slot is for; tells its nonce
	kindCursor     = "cursor"     // its name
	kindUndecided  = "undecided"  // grant id that ended before its session did
	kindUndone     = "undone"     // task and transaction of a payment that came undone, until that is reported
	kindProposals  = "proposals"  // hash of a setup session; what it was proposed
	kindSighting   = "sighting"   // signer and nonce of an authorization that was verified unused
)

// errRecord tells that a record is not what the rail wrote.
var errRecord = errors.New("chain: record is damaged")

// read gets a record into a value, and tells whether it was there.
func read[T any](tx Tx, kind, key string) (value T, found bool, err error) {
	text, found, err := tx.Get(kind, key)
	if err != nil || !found {
		return value, false, err
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return value, false, fmt.Errorf("%s %s: %w: %w", kind, key, errRecord, err)
	}
	return value, true, nil
}

// write puts a value as a record.
func write[T any](tx Tx, kind, key string, value T) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", kind, key, err)
	}
	return tx.Put(kind, key, text)
}

// view reads one record in a transaction of its own.
func view[T any](ctx context.Context, s Store, kind, key string) (value T, found bool, err error) {
	err = s.View(ctx, func(tx Tx) (err error) {
		value, found, err = read[T](tx, kind, key)
		return err
	})
	if err != nil {
		return value, false, fmt.Errorf("read %s: %w", kind, err)
	}
	return value, found, nil
}
