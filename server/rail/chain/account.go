package chain

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// accountRecord is the session account of a grant. Its key outlives the grant's session key,
// because money must find its way back after a revocation. It signs transfers to sellers and
// to the owner, and nothing else.
type accountRecord struct {
	Address   common.Address `json:"address"`
	Owner     common.Address `json:"owner"`
	MandateID string         `json:"mandateId"`
	Sealed    []byte         `json:"sealed"`
	// Free is the money in the account that no purchase and no sweep has.
	Free rail.Micros `json:"free"`
	// Sweep is the key of the sweep that is not recorded yet.
	Sweep string `json:"sweep,omitempty"`
	// Since is when Free changed last, in Unix seconds.
	Since int64 `json:"since"`
}

func accountLabel(grantID common.Hash) vault.Label {
	return vault.Label{Purpose: "session-account/secp256k1", Owner: grantID.Hex()}
}

// add changes the free money of an account, which is never negative.
func (a *accountRecord) add(amount rail.Micros, now time.Time) error {
	if a.Free+amount < 0 {
		return fmt.Errorf("session account %s has %d micros, not %d: %w", a.Address, a.Free, -amount, records.ErrDamaged)
	}
	a.Free, a.Since = a.Free+amount, now.Unix()
	return nil
}

// getAccount returns the session account of a grant, which must have one.
func getAccount(tx Tx, grantID common.Hash) (accountRecord, error) {
	a, found, err := records.Get[accountRecord](tx, kindAccount, grantID.Hex())
	if err == nil && !found {
		err = fmt.Errorf("session account of %s: %w", grantID, records.ErrDamaged)
	}
	return a, err
}

// putAccount stores an account, and lists it while it has free money or a sweep.
func putAccount(tx Tx, grantID common.Hash, a accountRecord) error {
	if err := records.Put(tx, kindAccount, grantID.Hex(), a); err != nil {
		return err
	}
	if a.Free == 0 && a.Sweep == "" {
		return tx.Delete(kindLoose, grantID.Hex())
	}
	return records.Put(tx, kindLoose, grantID.Hex(), true)
}

// newAccount returns a fresh session account of a grant. It is not stored yet.
func (r *Rail) newAccount(ctx context.Context, grantID common.Hash, grant grantRecord, mandateID string) (accountRecord, error) {
	key, err := crypto.GenerateKey()
	if err != nil {
		return accountRecord{}, fmt.Errorf("make key of session account: %w", err)
	}
	secret := crypto.FromECDSA(key)
	defer clear(secret)
	sealed, err := r.config.Vault.Seal(ctx, accountLabel(grantID), secret)
	if err != nil {
		return accountRecord{}, err
	}
	return accountRecord{
		Address: crypto.PubkeyToAddress(key.PublicKey), Owner: grant.Grant.Owner, MandateID: mandateID, Sealed: sealed, Since: r.config.Clock().Unix(),
	}, nil
}

// findOrMakeAccount returns the session account of a grant, and stores one if there is none.
func (r *Rail) findOrMakeAccount(ctx context.Context, grantID common.Hash, grant grantRecord, mandateID string) (accountRecord, error) {
	a, found, err := records.Load[accountRecord](ctx, r.config.Store, kindAccount, grantID.Hex())
	if err != nil || found {
		return a, err
	}
	fresh, err := r.newAccount(ctx, grantID, grant, mandateID)
	if err != nil {
		return a, err
	}
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		if a, found, err = records.Get[accountRecord](tx, kindAccount, grantID.Hex()); err != nil || found {
			return err
		}
		a = fresh
		return putAccount(tx, grantID, fresh)
	})
	if err != nil {
		return a, fmt.Errorf("store session account: %w", err)
	}
	return a, nil
}

// signFromAccount signs a transfer with the key of a session account.
func (r *Rail) signFromAccount(ctx context.Context, grantID common.Hash, a accountRecord, t evm.TransferAuthorization) ([]byte, error) {
	secret, err := r.config.Vault.Open(ctx, accountLabel(grantID), a.Sealed)
	if err != nil {
		return nil, fmt.Errorf("key of session account: %w", err)
	}
	defer clear(secret)
	var key *ecdsa.PrivateKey
	if key, err = crypto.ToECDSA(secret); err != nil {
		return nil, fmt.Errorf("key of session account %s is damaged", a.Address)
	}
	defer clear(key.D.Bits()) //nolint:staticcheck // nothing is done with it but to make it zero
	return evm.Sign(evm.Digest(r.tokenDomain.Separator(), t), key)
}

// SessionAccounts implements [rail.Buyer].
func (r *Rail) SessionAccounts(ctx context.Context, after string, limit int) ([]rail.SessionAccount, error) {
	list, err := records.List(ctx, r.config.Store, kindLoose, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list session accounts: %w", err)
	}
	all := make([]rail.SessionAccount, 0, len(list))
	for _, one := range list {
		a, _, err := records.Load[accountRecord](ctx, r.config.Store, kindAccount, one.Key)
		if err != nil {
			return nil, err
		}
		all = append(all, rail.SessionAccount{
			Method: one.Key, MandateID: a.MandateID, Free: a.Free, Since: time.Unix(a.Since, 0), Sweeping: a.Sweep != "",
		})
	}
	return all, nil
}

// rewrapAccount replaces the sealed key of a session account, and reports whether it did.
func rewrapAccount(ctx context.Context, store Store, v *vault.Vault, key string) (done bool, err error) {
	a, found, err := records.Load[accountRecord](ctx, store, kindAccount, key)
	if err != nil || !found {
		return false, err
	}
	fresh, changed, err := v.Rewrap(ctx, accountLabel(common.HexToHash(key)), a.Sealed)
	if err != nil || !changed {
		return false, err
	}
	err = store.Update(ctx, func(tx Tx) error {
		now, err := getAccount(tx, common.HexToHash(key))
		if err != nil || !bytes.Equal(now.Sealed, a.Sealed) {
			return err
		}
		now.Sealed = fresh
		return putAccount(tx, common.HexToHash(key), now)
	})
	return err == nil, err
}
