package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// transfer is what the chain moved.
type transfer struct {
	hash   common.Hash
	to     common.Address
	micros int64
}

func (t transfer) String() string {
	return fmt.Sprintf("%d micros to %s by %s", t.micros, t.to, t.hash)
}

// onChain is all that the chain says.
type onChain struct {
	charged    map[common.Hash][]transfer // by the charge's reference
	authorized map[common.Hash][]transfer // by the nonce that a wallet signed
	granted    map[common.Hash]*contracts.MandateRouterMandateGranted
	revoked    map[common.Hash]bool
	relayed    []common.Hash // the relayer's transactions, by nonce
}

// The token's events that the drill reads: Transfer(address,address,uint256) and
// AuthorizationUsed(address,bytes32).
var (
	transferTopic = crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))
	usedTopic     = crypto.Keccak256Hash([]byte("AuthorizationUsed(address,bytes32)"))
)

// readChain reads the whole chain. It returns an error if money moved in another way than by
// one charge or one signed transfer a transaction. A reorganization may drop a transaction while
// it reads; it then reads again.
func (d *chainDrill) readChain(ctx context.Context) (*onChain, error) {
	const most = 20
	for tries := 1; ; tries++ {
		c, err := d.readOnce(ctx)
		if !errors.Is(err, ethereum.NotFound) || tries == most {
			return c, err
		}
		if err := sleep.For(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func (d *chainDrill) readOnce(ctx context.Context) (*onChain, error) {
	logs, err := d.node.chain.Client().FilterLogs(ctx, ethereum.FilterQuery{
		Addresses: []common.Address{devchain.Router(), devchain.USDC(), evm.UptoProxy()},
	})
	if err != nil {
		return nil, fmt.Errorf("read the chain: %w", err)
	}
	c := &onChain{
		charged: map[common.Hash][]transfer{}, authorized: map[common.Hash][]transfer{},
		granted: map[common.Hash]*contracts.MandateRouterMandateGranted{}, revoked: map[common.Hash]bool{},
	}
	moved := map[common.Hash][]transfer{} // by transaction
	for _, l := range logs {
		if l.Topics[0] == transferTopic {
			moved[l.TxHash] = append(moved[l.TxHash], transfer{
				hash: l.TxHash, to: common.BytesToAddress(l.Topics[2][:]), micros: new(big.Int).SetBytes(l.Data).Int64(),
			})
		}
	}
	for i := range logs {
		if logs[i].Topics[0] == settledTopic {
			nonce, err := d.permitOf(ctx, logs[i].TxHash)
			if err == nil {
				err = takeInto(c.authorized, nonce, moved, logs[i].TxHash)
			}
			if err != nil {
				return nil, err
			}
		}
		if err := c.add(&logs[i], moved); err != nil {
			return nil, err
		}
	}
	if len(moved) > 0 {
		return nil, fmt.Errorf("%d transfers outside of any charge", len(moved))
	}
	return c, nil
}

// add reads one log, and takes what its transaction moved out of moved.
func (c *onChain) add(l *types.Log, moved map[common.Hash][]transfer) error {
	router := contracts.NewMandateRouter()
	if granted, err := router.UnpackMandateGrantedEvent(l); err == nil {
		c.granted[granted.GrantId] = granted
	}
	if revoked, err := router.UnpackMandateRevokedEvent(l); err == nil {
		c.revoked[revoked.GrantId] = true
	}
	charged, err := router.UnpackChargedEvent(l)
	switch {
	case err == nil:
		return takeInto(c.charged, charged.Ref, moved, l.TxHash)
	case l.Topics[0] == usedTopic:
		return takeInto(c.authorized, l.Topics[2], moved, l.TxHash)
	}
	return nil
}

// takeInto takes the one thing that a transaction moved.
func takeInto(to map[common.Hash][]transfer, key common.Hash, moved map[common.Hash][]transfer, tx common.Hash) error {
	if len(moved[tx]) != 1 {
		return fmt.Errorf("transaction %s has %d transfers", tx, len(moved[tx]))
	}
	to[key] = append(to[key], moved[tx]...)
	delete(moved, tx)
	return nil
}

// readRelayer reads the relayer's transactions, block by block.
func (d *chainDrill) readRelayer(ctx context.Context, c *onChain) error {
	client, signer := d.node.chain.Client(), types.LatestSignerForChainID(big.NewInt(devchain.ChainID))
	head, err := client.BlockNumber(ctx)
	if err != nil {
		return fmt.Errorf("read newest block: %w", err)
	}
	for n := range head + 1 {
		block, err := client.BlockByNumber(ctx, new(big.Int).SetUint64(n))
		if err != nil {
			return fmt.Errorf("read block %d: %w", n, err)
		}
		for _, tx := range block.Transactions() {
			if from, err := types.Sender(signer, tx); err != nil || from != devchain.Relayer().Address {
				continue
			}
			if tx.Nonce() != uint64(len(c.relayed)) {
				return fmt.Errorf("the relayer's nonce %d comes after %d", tx.Nonce(), len(c.relayed))
			}
			c.relayed = append(c.relayed, tx.Hash())
		}
	}
	return nil
}

// errNoGrant reports that no grant of a mandate is on the chain now.
var errNoGrant = errors.New("there is no grant")

// grantOf finds the grant of a mandate by its monthly limit, which no other has.
func (c *onChain) grantOf(l life) (*contracts.MandateRouterMandateGranted, error) {
	var found *contracts.MandateRouterMandateGranted
	for _, g := range c.granted {
		if g.MaxPerMonth.Int64() != l.monthly*10_000 {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("mandate %s was granted twice", l.mandate)
		}
		found = g
	}
	if found == nil {
		return nil, errNoGrant
	}
	return found, nil
}

// revokeOnChain has the owner of a mandate's grant revoke it, unless that is done. A
// grant that a reorganization has taken back is not there now.
func (d *chainDrill) revokeOnChain(ctx context.Context, l life) error {
	c, err := d.readChain(ctx)
	if err != nil {
		return err
	}
	g, err := c.grantOf(l)
	if errors.Is(err, errNoGrant) || err == nil && c.revoked[g.GrantId] {
		return nil
	}
	if err != nil {
		return err
	}
	_, _ = d.node.chain.Revoke(ctx, g.Owner, g.GrantId) // if it is lost, it is made again
	return nil
}
