package chain

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// Transfer authorizations (EIP-3009) that others signed: the rail checks them,
// submits each once through its relayer, and tells what became of it.

// kindAuthorization records are keyed by signer and nonce.
const kindAuthorization = "authorization"

const authorizationPrefix = "authorization/"

// authorizationRecord is an authorization that was submitted, or found on the
// chain. It is written with its first broadcast, never before.
type authorizationRecord struct {
	Authorization x402.Authorization `json:"authorization"`
	Signature     string             `json:"signature"`
	Resource      string             `json:"resource"` // what it pays for
	Since         uint64             `json:"since"`    // the block to look for it from
	Settled       common.Hash        `json:"settled"`  // the transaction that moved the money, for good
	Failed        x402.Reason        `json:"failed,omitempty"`
	FailedHash    common.Hash        `json:"failedHash"`
	Told          bool               `json:"told"`             // somebody was answered that it is settled
	Undone        bool               `json:"undone,omitempty"` // it was settled, and a reorganization took that back for good
	// Caller is the hash of the idempotency key under which the settlement was first
	// requested, or, without one, first answered. Empty: that request had no key.
	Caller string `json:"caller,omitempty"`
}

// transfer is what the record authorizes.
func (r authorizationRecord) transfer() (evm.TransferAuthorization, error) {
	return evm.ParseAuthorization(r.Authorization)
}

func (r authorizationRecord) decided() bool { return r.Settled != common.Hash{} || r.Failed != "" }

// failure is why an authorization moved nothing.
func (r authorizationRecord) failure() (x402.Reason, string) {
	if r.Undone {
		return x402.ReasonTransactionState, "a reorganization of the chain has taken the transfer back"
	}
	return r.Failed, "the transaction did not move the money"
}

// order is an authorization that was read.
type order struct {
	evm.TransferAuthorization

	wire      x402.Authorization
	signature []byte
	resource  string
	key       string
	caller    string // hash of the caller's idempotency key; empty if it sent none
	from      string // whose budget the gas counts against; may be empty
}

func (r *Rail) readOrder(e x402.Exact, resource string) (order, error) {
	if err := e.Validate(); err != nil {
		return order{}, err
	}
	t, err := evm.ParseAuthorization(e.Authorization)
	if err != nil {
		return order{}, err
	}
	signature, err := hex.DecodeString(strings.TrimPrefix(e.Signature, "0x"))
	if err != nil {
		return order{}, fmt.Errorf("signature: %w", err)
	}
	key := crypto.Keccak256(t.From[:], t.Nonce[:])
	return order{TransferAuthorization: t, wire: t.Wire(), signature: signature, resource: printOf(resource), key: hex.EncodeToString(key)}, nil
}

// refusedError ends an authorization that is not good.
type refusedError struct {
	reason  x402.Reason
	message string
}

func (e *refusedError) Error() string { return string(e.reason) + ": " + e.message }

func refuseAuthorization(reason x402.Reason, format string, args ...any) error {
	return &refusedError{reason, fmt.Sprintf(format, args...)}
}

// Dollar tells which network and token authorizations are for.
func (r *Rail) Dollar() (x402.Network, x402.Asset) {
	t := r.config.Token
	return x402.NetworkOf(int64(r.config.ChainID)), // no chain has such an id
		x402.Asset{Address: t.Address.Hex(), Name: t.Name, Version: t.Version, Decimals: 6}
}

// Signer is the address that submits authorizations.
func (r *Rail) Signer() string { return r.relayer.Hex() }

// VerifyAuthorization tells whether an authorization would be settled now, and
// moves nothing. An error where the chain or the store does not tell.
func (r *Rail) VerifyAuthorization(ctx context.Context, e x402.Exact, resource string) (x402.Verification, error) {
	v := x402.Verification{Payer: e.Authorization.From}
	err := r.verifyOrder(ctx, e, resource)
	var no *refusedError
	if errors.As(err, &no) {
		v.InvalidReason, v.InvalidMessage = no.reason, no.message
		return v, nil
	}
	if err != nil {
		return x402.Verification{}, fmt.Errorf("verify authorization: %w", err)
	}
	v.IsValid = true
	return v, nil
}

func (r *Rail) verifyOrder(ctx context.Context, e x402.Exact, resource string) error {
	o, err := r.readOrder(e, resource)
	if err != nil {
		return refuseAuthorization(x402.ReasonInvalidPayload, "%v", err)
	}
	record, found, err := view[authorizationRecord](ctx, r.config.Store, kindAuthorization, o.key)
	switch {
	case err != nil:
		return err
	case found && record.Told:
		return refuseAuthorization(x402.ReasonNonceUsed, "the authorization was settled before")
	case found && (record.Failed != "" || record.Undone):
		reason, message := record.failure()
		return &refusedError{reason, message}
	case found:
		return record.serves(o)
	}
	header, err := r.newest(ctx)
	if err != nil {
		return err
	}
	_, err = r.checkOrder(ctx, o)
	if errors.Is(err, errUsed) {
		_, err = r.findSighted(ctx, o)
		return err
	}
	var bare *undeployedError
	if err == nil || errors.As(err, &bare) { // settling deploys the wallet
		return r.sight(ctx, o, header.Number.Uint64())
	}
	return err
}

// serves tells whether a record is of this very authorization, for this resource.
func (r authorizationRecord) serves(o order) error {
	switch {
	case r.Authorization != o.wire:
		return refuseAuthorization(x402.ReasonNonceUsed, "another authorization of the same nonce was submitted")
	case r.Resource != o.resource:
		return refuseAuthorization(x402.ReasonNonceUsed, "the authorization was submitted for another resource")
	}
	return nil
}

// SettleAuthorization is [Rail.SettleOnce] without an idempotency key: one call
// succeeds, and every later one is refused as a duplicate.
func (r *Rail) SettleAuthorization(ctx context.Context, e x402.Exact, resource string) (x402.Settlement, error) {
	return r.SettleOnce(ctx, e, rail.SettleRequest{Resource: resource})
}

// SettleOnce moves what was authorized, at most once, and waits for the outcome up
// to Config.Wait: Success, a refusal, or [x402.ReasonPending] with the transaction,
// which a repeat reconciles with.
//
// A settlement succeeds once. A repeat is refused with [x402.ReasonDuplicate] and the
// transaction, unless it carries the idempotency key of the first call: then it
// returns the first result again, with Replayed set. While a settlement is
// pending only calls with the key of the first one can succeed, if it had one.
//
// An error leaves the outcome unknown; the same call finds it.
func (r *Rail) SettleOnce(ctx context.Context, e x402.Exact, q rail.SettleRequest) (x402.Settlement, error) {
	network, _ := r.Dollar()
	s := x402.Settlement{Network: network.CAIP2, Payer: e.Authorization.From}
	began := time.Now()
	o, err := r.readOrder(e, q.Resource)
	if err != nil {
		s.ErrorReason, s.ErrorMessage = x402.ReasonInvalidPayload, err.Error()
		return s, nil //nolint:nilerr // a refusal is an answer
	}
	o.from = q.Caller
	if q.IdempotencyKey != "" {
		o.caller = printOf("settle", q.IdempotencyKey)
	}
	record, err := r.openOrder(ctx, o)
	if err == nil {
		s, err = r.awaitOrder(ctx, o, record, s, began.Add(r.config.Wait))
	}
	var no *refusedError
	if errors.As(err, &no) {
		s.ErrorReason, s.ErrorMessage = no.reason, no.message
		return s, nil
	}
	if err != nil {
		return x402.Settlement{}, fmt.Errorf("settle authorization: %w", err)
	}
	if s.Success && !s.Replayed {
		r.lately.took(time.Since(began))
	}
	return s, nil
}

// openOrder returns the record of an authorization, and submits it where there is
// none: one caller at a time, so that gas is spent once.
func (r *Rail) openOrder(ctx context.Context, o order) (authorizationRecord, error) {
	for locked := false; ; locked = true {
		record, found, err := view[authorizationRecord](ctx, r.config.Store, kindAuthorization, o.key)
		if err != nil {
			return record, err
		}
		if found {
			return record, record.serves(o)
		}
		if locked {
			break
		}
		unlock, err := r.locks.lock(ctx, authorizationPrefix+o.key)
		if err != nil {
			return record, err
		}
		defer unlock()
	}
	record, err := r.submitOrder(ctx, o, nil)
	for tries := 1; errors.Is(err, errReserved) && tries < maxReserveTries; tries++ {
		record, err = r.submitOrder(ctx, o, nil)
	}
	var no *refusedError
	if errors.As(err, &no) { // by what another instance has done meanwhile, perhaps
		kept, found, viewErr := view[authorizationRecord](ctx, r.config.Store, kindAuthorization, o.key)
		if viewErr != nil {
			return record, viewErr
		}
		if found {
			return kept, kept.serves(o)
		}
	}
	return record, err
}

// submitOrder checks an authorization and gives it to the relayer. If it was used
// already, submitOrder looks for the transfer on the chain instead. Kept is the
// record of an authorization that lost its nonce, nil for a new one.
func (r *Rail) submitOrder(ctx context.Context, o order, kept *authorizationRecord) (authorizationRecord, error) {
	record := authorizationRecord{
		Authorization: o.wire, Signature: hex.EncodeToString(o.signature), Resource: o.resource, Caller: o.caller,
	}
	header, err := r.newest(ctx)
	if err != nil {
		return record, err
	}
	record.Since = header.Number.Uint64()
	write := func(tx Tx) error {
		if kept != nil {
			return nil
		}
		return r.recordOrder(tx, o, &record)
	}
	w, err := r.checkDeployed(ctx, o)
	if errors.Is(err, errUsed) {
		if kept != nil {
			record.Settled, err = r.findOrder(ctx, o.TransferAuthorization, kept.Since)
		} else {
			record.Settled, err = r.findSighted(ctx, o)
		}
		if err != nil {
			return record, err
		}
		if err := r.config.Store.Update(ctx, write); err != nil && !errors.Is(err, errRecorded) {
			return record, fmt.Errorf("store authorization: %w", err)
		}
		return record, nil
	}
	if err != nil {
		return record, err
	}
	w.task = authorizationPrefix + o.key
	if err := r.spend(ctx, w.task, expenseOf(costOf(w.gas, w.offer.cap), o.From, o.To, w.contract, o.from)); err != nil {
		return record, err
	}
	failpoint.Hit(failpoint.AuthorizationChecked)
	w.also = func(tx Tx) error {
		if err := write(tx); err != nil {
			return err
		}
		return w.reserve(tx)
	}
	w.stored, w.sent = failpoint.AuthorizationStored, failpoint.AuthorizationSent
	if _, err = r.submit(ctx, w); err != nil {
		r.budget.giveBack(w.task)
	}
	if err != nil && !errors.Is(err, errRecorded) {
		return record, err
	}
	return record, nil
}

// maxReserveTries is how often an order is checked again because the payer's other
// settlements changed meanwhile.
const maxReserveTries = 8

// checkDeployed is [Rail.checkOrder] once the payer's wallet is there, which a
// factory that is trusted is called for.
func (r *Rail) checkDeployed(ctx context.Context, o order) (work, error) {
	w, err := r.checkOrder(ctx, o)
	var bare *undeployedError
	if !errors.As(err, &bare) {
		return w, err
	}
	if err := r.deployWallet(ctx, o, bare.Wrapped); err != nil {
		return work{}, err
	}
	if w, err = r.checkOrder(ctx, o); errors.As(err, &bare) { // the node is late with its state
		return work{}, refuseAuthorization(x402.ReasonPending, "the payer's wallet is being deployed")
	}
	return w, err
}

// recordOrder writes a record, unless there is one; then that is what counts.
func (r *Rail) recordOrder(tx Tx, o order, record *authorizationRecord) error {
	now, found, err := read[authorizationRecord](tx, kindAuthorization, o.key)
	if err != nil {
		return err
	}
	if found {
		if err := now.serves(o); err != nil {
			return err
		}
		*record = now
		return errRecorded
	}
	return write(tx, kindAuthorization, o.key, *record)
}
