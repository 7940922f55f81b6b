package contracts_test

import (
	"context"
	"crypto/ecdsa"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	gethabi "github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
	"github.com/paywarrant/paywarrant/x402/evm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The bindings, which keep nothing.
type bindings struct {
	router *contracts.MandateRouter
	token  *contracts.TestUSDC
}

// world is a chain with an owner who gave the router an allowance.
type world struct {
	bindings

	chain  *devchain.Chain
	domain evm.Separator // the router's
	owner  devchain.Wallet
	key    *ecdsa.PrivateKey // a session key
	payee  common.Address
	nonces map[common.Address]uint64
	salts  uint64
}

func setup(t *testing.T) *world {
	t.Helper()
	return newWorld(t, devchaintest.Start(t, devchain.Config{Manual: true}))
}

// onEachForm runs a test on the plain test dollar and on the one that behaves like the
// deployed USDC, which refuses with texts.
func onEachForm(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for name, accounts := range map[string]types.GenesisAlloc{"plain": nil, "issued": devchaintest.IssuedUSDC(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, devchaintest.Start(t, devchain.Config{Manual: true, Genesis: accounts})))
		})
	}
}

func newWorld(t require.TestingT, chain *devchain.Chain) *world {
	w := &world{
		bindings: bindings{contracts.NewMandateRouter(), contracts.NewTestUSDC()},
		chain:    chain,
		owner:    devchain.Wallets()[0], payee: devchain.Payee(0).Address,
		key: keyOf(9), nonces: map[common.Address]uint64{devchain.Admin().Address: 3},
	}
	w.domain = evm.Domain{
		Name: contracts.RouterDomainName, Version: contracts.RouterDomainVersion, ChainID: devchain.ChainID, Contract: w.chain.Router(),
	}.Separator()
	w.must(t, w.owner, devchain.USDC(), w.token.PackApprove(w.chain.Router(), new(big.Int).Lsh(common.Big1, 255)))
	return w
}

func keyOf(n byte) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(common.LeftPadBytes([]byte{n}, 32))
	if err != nil {
		panic(err)
	}
	return key
}

func addressOf(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }

// now returns the earliest time that the next block can have.
func (w *world) now() uint64 { return uint64(w.chain.Now().Unix()) }

// grant returns a grant of ten dollars a charge and twenty-five a month to the payee.
func (w *world) grant() evm.Grant {
	w.salts++
	return evm.Grant{
		Owner: w.owner.Address, Token: devchain.USDC(), SessionKey: addressOf(w.key),
		MaxPerCharge: 10_000_000, MaxPerMonth: 25_000_000, ExpiresAt: w.now() + 400*86_400,
		Payees: []common.Address{w.payee}, Salt: common.BigToHash(new(big.Int).SetUint64(w.salts)),
	}
}

// abi is the grant as the bindings have it.
func abi(g evm.Grant) contracts.MandateRouterGrant {
	return contracts.MandateRouterGrant{
		Owner: g.Owner, Token: g.Token, SessionKey: g.SessionKey, MaxPerCharge: new(big.Int).SetUint64(g.MaxPerCharge),
		MaxPerMonth: new(big.Int).SetUint64(g.MaxPerMonth), ExpiresAt: g.ExpiresAt, AnyPayee: g.AnyPayee(), Payees: g.Payees, Salt: g.Salt,
	}
}

// granted submits a grant as its owner.
func (w *world) granted(t require.TestingT, g evm.Grant) common.Hash {
	w.must(t, w.owner, w.chain.Router(), w.router.PackGrant(abi(g)))
	return g.ID(devchain.ChainID, w.chain.Router())
}

func (w *world) sign(t require.TestingT, m evm.Message, key *ecdsa.PrivateKey) []byte {
	signature, err := evm.Sign(evm.Digest(w.domain, m), key)
	require.NoError(t, err)
	return signature
}

// charge returns the call of a charge with the session key's signature.
func (w *world) charge(t require.TestingT, c evm.Charge) []byte {
	return w.chargeBy(t, c, w.key)
}

func (w *world) chargeBy(t require.TestingT, c evm.Charge, key *ecdsa.PrivateKey) []byte {
	if c.Deadline == 0 {
		c.Deadline = w.now() + 3600
	}
	return w.router.PackCharge(c.GrantID, c.Payee, new(big.Int).SetUint64(c.Amount), c.Ref, new(big.Int).SetUint64(c.Deadline), w.sign(t, c, key))
}

// send sends a call in a block of its own. If the call reverts, send makes no block and
// returns the contract's error, unpacked.
func (w *world) send(t require.TestingT, from devchain.Wallet, to common.Address, call []byte) (*types.Receipt, any) {
	ctx := context.Background()
	message := ethereum.CallMsg{From: from.Address, To: &to, Data: call}
	_, err := w.chain.Client().PendingCallContract(ctx, message)
	if err != nil {
		return nil, w.unpack(t, err)
	}
	tx, err := types.SignNewTx(from.Key(), types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), Nonce: w.nonces[from.Address], To: &to, Data: call, Gas: 2_000_000,
		GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
	})
	require.NoError(t, err)
	require.NoError(t, w.chain.Client().SendTransaction(ctx, tx))
	w.nonces[from.Address]++
	_, err = w.chain.Commit()
	require.NoError(t, err)
	receipt, err := w.chain.Client().TransactionReceipt(ctx, tx.Hash())
	require.NoError(t, err)
	return receipt, nil
}

// unpack unpacks the error of a call that reverted.
func (w *world) unpack(t require.TestingT, err error) any {
	var data rpc.DataError
	require.ErrorAs(t, err, &data)
	raw, err := hexutil.Decode(data.ErrorData().(string))
	require.NoError(t, err)
	if unpacked, err := w.router.UnpackError(raw); err == nil {
		return unpacked
	}
	if text, err := gethabi.UnpackRevert(raw); err == nil {
		require.Contains(t, texts, text)
		return texts[text]
	}
	if unpacked, err := contracts.NewTestPermit2().UnpackError(raw); err == nil {
		return unpacked
	}
	if unpacked, err := contracts.NewTestUptoProxy().UnpackError(raw); err == nil {
		return unpacked
	}
	unpacked, err := w.token.UnpackError(raw)
	require.NoError(t, err, "error %x", raw)
	return unpacked
}

// texts maps the texts of the deployed USDC to the errors of [contracts.TestUSDC] that
// mean the same.
var texts = map[string]any{
	"ERC20: transfer amount exceeds allowance":       &contracts.TestUSDCERC20InsufficientAllowance{},
	"ERC20: transfer amount exceeds balance":         &contracts.TestUSDCERC20InsufficientBalance{},
	"FiatTokenV2: authorization is expired":          &contracts.TestUSDCAuthorizationExpired{},
	"FiatTokenV2: authorization is not yet valid":    &contracts.TestUSDCAuthorizationNotYetValid{},
	"FiatTokenV2: authorization is used or canceled": &contracts.TestUSDCAuthorizationUsedOrCanceled{},
	"FiatTokenV2: caller must be the payee":          &contracts.TestUSDCCallerIsNotPayee{},
	"FiatTokenV2: invalid signature":                 &contracts.TestUSDCInvalidSignature{},
	"FiatTokenV2: permit is expired":                 &contracts.TestUSDCPermitExpired{},
}

// must sends a call that must succeed.
func (w *world) must(t require.TestingT, from devchain.Wallet, to common.Address, call []byte) *types.Receipt {
	receipt, refused := w.send(t, from, to, call)
	require.Nil(t, refused, "%T", refused)
	require.Equal(t, types.ReceiptStatusSuccessful, receipt.Status)
	return receipt
}

// refused sends a call that must revert with an error of the type of want.
func refused[E any](t require.TestingT, w *world, from devchain.Wallet, call []byte) *E {
	_, got := w.send(t, from, w.chain.Router(), call)
	e, ok := got.(*E)
	require.True(t, ok, "want %T, got %T", e, got)
	return e
}

func (w *world) call(t require.TestingT, to common.Address, call []byte) []byte {
	answer, err := w.chain.Client().CallContract(context.Background(), ethereum.CallMsg{To: &to, Data: call}, nil)
	require.NoError(t, err)
	return answer
}

func (w *world) balance(t require.TestingT, of common.Address) uint64 {
	balance, err := w.token.UnpackBalanceOf(w.call(t, devchain.USDC(), w.token.PackBalanceOf(of)))
	require.NoError(t, err)
	return balance.Uint64()
}

func (w *world) remaining(t require.TestingT, id common.Hash) uint64 {
	left, err := w.router.UnpackRemaining(w.call(t, w.chain.Router(), w.router.PackRemaining(id)))
	require.NoError(t, err)
	return left.Uint64()
}

// until moves the chain's clock to a time.
func (w *world) until(t require.TestingT, at time.Time) {
	require.NoError(t, w.chain.AdvanceTime(at.Sub(w.chain.Now())))
}

func hash(parts ...[]byte) common.Hash { return crypto.Keccak256Hash(parts...) }
