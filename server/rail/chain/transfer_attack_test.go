package chain_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/contracts/contracttest"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// deploy deploys creation code, and returns the contract's address.
func (w *world) deploy(t *testing.T, code string) common.Address {
	t.Helper()
	from := devchain.Wallets()[9]
	nonce, err := w.chain.Client().PendingNonceAt(t.Context(), from.Address)
	require.NoError(t, err)
	id := big.NewInt(devchain.ChainID)
	tx, err := types.SignNewTx(from.Key(), types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: nonce, Data: common.FromHex(code), Gas: 3_000_000,
		GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
	})
	require.NoError(t, err)
	require.NoError(t, w.chain.Client().SendTransaction(t.Context(), tx))
	return w.mined(t, tx.Hash()).ContractAddress
}

// ended repeats a settlement until it has ended.
func (w *world) ended(t *testing.T, e x402.Exact) (s x402.Settlement) {
	t.Helper()
	require.Eventually(t, func() bool {
		s = w.settle(t, e)
		return s.ErrorReason != x402.ReasonPending
	}, time.Minute, time.Millisecond)
	return s
}

// TestTokenThatDoesNotRevert checks that a token whose transfers succeed and move nothing
// pays for nothing, before and after a restart, and that gas is spent once.
func TestTokenThatDoesNotRevert(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	silent := chain.Token{Address: w.deploy(t, contracttest.SilentTokenMetaData.Bin), Name: "Silent", Version: "1"}
	w.config.Token = silent
	w.restart(t)
	from := devchain.Wallets()[0]
	o := evm.TransferAuthorization{
		From: from.Address, To: devchain.Payee(0).Address, Value: evm.Uint64(uint64(dollar)), Nonce: common.Hash{1},
		ValidBefore: evm.Uint64(uint64(time.Now().Add(time.Hour).Unix())),
	}
	domain := evm.Domain{Name: silent.Name, Version: silent.Version, ChainID: devchain.ChainID, Contract: silent.Address}
	signature, err := evm.Sign(evm.Digest(domain.Separator(), o), from.Key())
	require.NoError(t, err)
	e := x402.Exact{Signature: hexutil.Encode(signature), Authorization: o.Wire()}
	for range 2 {
		s := w.ended(t, e)
		require.False(t, s.Success)
		require.Equal(t, x402.ReasonTransactionState, s.ErrorReason)
		w.restart(t)
	}
	spent, err := w.chain.Client().NonceAt(t.Context(), devchain.Relayer().Address, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, spent)
}

// cancel returns the call that cancels an authorization with its payer's signature
// (EIP-3009).
func cancel(t *testing.T, from devchain.Wallet, a x402.Authorization) []byte {
	t.Helper()
	nonce := common.HexToHash(a.Nonce)
	domain := evm.Domain{Name: devchain.USDCName, Version: devchain.USDCVersion, ChainID: devchain.ChainID, Contract: devchain.USDC()}.Separator()
	kind := crypto.Keccak256([]byte("CancelAuthorization(address authorizer,bytes32 nonce)"))
	message := crypto.Keccak256(kind, common.LeftPadBytes(from.Address[:], 32), nonce[:])
	signature, err := evm.Sign(crypto.Keccak256Hash([]byte{0x19, 0x01}, domain[:], message), from.Key())
	require.NoError(t, err)
	return contracts.NewTestUSDC().PackCancelAuthorization0(from.Address, nonce, signature)
}

// TestCanceledAuthorizations has the payer cancel before verify, between verify and
// settle, and while the relayer's transaction waits for a block.
func TestCanceledAuthorizations(t *testing.T) {
	t.Parallel()
	from := devchain.Wallets()[0]
	t.Run("before verify", func(t *testing.T) {
		t.Parallel()
		w := setup(t, devchain.Config{}, nil)
		e := w.authorize(t, from)
		w.mined(t, w.send(t, devchain.Wallets()[8], devchain.USDC(), cancel(t, from, e.Authorization)))
		v, err := w.rail.VerifyAuthorization(t.Context(), e, resource)
		require.NoError(t, err)
		require.Equal(t, x402.ReasonNonceUsed, v.InvalidReason)
		require.Equal(t, x402.ReasonNonceUsed, w.ended(t, e).ErrorReason)
	})
	t.Run("between verify and settle", func(t *testing.T) {
		t.Parallel()
		w := setup(t, devchain.Config{}, nil)
		e := w.authorize(t, from)
		v, err := w.rail.VerifyAuthorization(t.Context(), e, resource)
		require.NoError(t, err)
		require.True(t, v.IsValid)
		w.mined(t, w.send(t, devchain.Wallets()[8], devchain.USDC(), cancel(t, from, e.Authorization)))
		require.Equal(t, x402.ReasonNonceUsed, w.ended(t, e).ErrorReason)
		spent, err := w.chain.Client().NonceAt(t.Context(), devchain.Relayer().Address, nil)
		require.NoError(t, err)
		require.Zero(t, spent, "no gas was spent")
	})
	t.Run("while our transaction waits", func(t *testing.T) {
		t.Parallel()
		w := setup(t, devchain.Config{Manual: true}, impatient)
		e := w.authorize(t, from)
		require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
		require.NoError(t, w.chain.Client().SendTransaction(t.Context(), w.dear(t, from, cancel(t, from, e.Authorization))))
		w.commit(t, 1)
		for range 2 {
			require.Equal(t, x402.ReasonTransactionState, w.ended(t, e).ErrorReason)
		}
		require.Zero(t, w.moved(t))
	})
}

// dear returns a call of the token that lands before others in a block.
func (w *world) dear(t *testing.T, from devchain.Wallet, data []byte) *types.Transaction {
	t.Helper()
	usdc, id := devchain.USDC(), big.NewInt(devchain.ChainID)
	tx, err := types.SignNewTx(from.Key(), types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, To: &usdc, Data: data, Gas: 200_000,
		GasTipCap: big.NewInt(500 * params.GWei), GasFeeCap: big.NewInt(1000 * params.GWei),
	})
	require.NoError(t, err)
	return tx
}

// counterfactual returns the address of a wallet, with money, that a factory would deploy
// for a key.
type counterfactual struct {
	factory, address common.Address
	key              *ecdsa.PrivateKey
	create           []byte
}

func (w *world) counterfactual(t *testing.T, factory common.Address, owner devchain.Wallet) counterfactual {
	t.Helper()
	calls := contracttest.NewSmartWalletFactory()
	text, err := w.chain.Client().CallContract(t.Context(), ethereum.CallMsg{To: &factory, Data: calls.PackAddressOf(owner.Address)}, nil)
	require.NoError(t, err)
	c := counterfactual{factory: factory, address: common.BytesToAddress(text), key: owner.Key(), create: calls.PackCreate(owner.Address)}
	w.mined(t, w.send(t, devchain.Wallets()[8], devchain.USDC(), contracts.NewTestUSDC().PackMint(c.address, big.NewInt(int64(10*dollar)))))
	return c
}

// authorize returns a payment of a dollar, signed as ERC-6492 defines.
func (c counterfactual) authorize(t *testing.T) x402.Exact {
	t.Helper()
	o := evm.TransferAuthorization{
		From: c.address, To: devchain.Payee(0).Address, Value: evm.Uint64(uint64(dollar)),
		ValidBefore: evm.Uint64(uint64(time.Now().Add(2 * time.Hour).Unix())),
	}
	_, _ = rand.Read(o.Nonce[:]) // never fails
	domain := evm.Domain{Name: devchain.USDCName, Version: devchain.USDCVersion, ChainID: devchain.ChainID, Contract: devchain.USDC()}
	signature, err := evm.Sign(evm.Digest(domain.Separator(), o), c.key)
	require.NoError(t, err)
	wrapped := evm.Wrapped{Factory: c.factory, FactoryCall: c.create, Signature: signature}.Wrap()
	return x402.Exact{Signature: hexutil.Encode(wrapped), Authorization: o.Wire()}
}

// TestFactoriesThatAreTrusted checks that the relayer calls the factories of its
// configuration, once for each wallet, and no other that a signature names.
func TestFactoriesThatAreTrusted(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, genesis types.GenesisAlloc) {
		w := setup(t, devchain.Config{Genesis: genesis}, nil)
		trusted := w.deploy(t, contracttest.SmartWalletFactoryMetaData.Bin)
		other := w.deploy(t, contracttest.SmartWalletFactoryMetaData.Bin)
		w.config.Authorizations.Factories = []common.Address{trusted}
		w.restart(t)
		refused := func(name string, reason x402.Reason, c counterfactual) {
			t.Helper()
			s := w.settle(t, c.authorize(t))
			require.Equal(t, []any{false, reason, ""}, []any{s.Success, s.ErrorReason, s.Transaction}, name)
			code, err := w.chain.Client().CodeAt(t.Context(), c.address, nil)
			require.NoError(t, err)
			require.Empty(t, code, name)
		}
		refused("a factory that is not trusted", chain.ReasonUndeployed, w.counterfactual(t, other, devchain.Wallets()[1]))
		wallet := w.counterfactual(t, trusted, devchain.Wallets()[2])
		twisted := wallet
		twisted.create = contracttest.NewSmartWalletFactory().PackCreate(devchain.Wallets()[3].Address)
		refused("a call that makes another's wallet", x402.ReasonSignature, twisted)
		twisted.create = []byte{1, 2, 3, 4}
		refused("a call that the factory does not know", x402.ReasonSignature, twisted)
		twisted = wallet
		twisted.factory = other
		refused("another factory of the same code", x402.ReasonSignature, twisted)
		twisted = wallet
		twisted.factory, twisted.create = devchain.USDC(), contracts.NewTestUSDC().PackTransfer(devchain.Wallets()[9].Address, big.NewInt(1))
		refused("the token as factory", x402.ReasonSignature, twisted)
		twisted = wallet
		twisted.key = devchain.Wallets()[4].Key()
		refused("signed by another key", x402.ReasonSignature, twisted)

		e := wallet.authorize(t)
		v, err := w.rail.VerifyAuthorization(t.Context(), e, resource)
		require.NoError(t, err)
		require.True(t, v.IsValid, v.InvalidMessage)
		s := w.ended(t, e)
		require.True(t, s.Success, s.ErrorMessage)
		require.True(t, w.ended(t, wallet.authorize(t)).Success, "it is there now")
		require.Equal(t, 2*dollar, w.moved(t))
		spent, err := w.chain.Client().NonceAt(t.Context(), devchain.Relayer().Address, nil)
		require.NoError(t, err)
		require.EqualValues(t, 3, spent, "deployed once, paid twice")
	})
}

// TestDeploymentThatIsLate checks that a late deployment is pending, also after a restart,
// then paid, and never made twice. One that costs too much is refused.
func TestDeploymentThatIsLate(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, impatient)
	factory := w.deploy(t, contracttest.SmartWalletFactoryMetaData.Bin)
	w.config.Authorizations.Factories = []common.Address{factory}
	w.config.Authorizations.DeployGas = 30_000
	w.restart(t)
	wallet := w.counterfactual(t, factory, devchain.Wallets()[2])
	e := wallet.authorize(t)
	require.Equal(t, chain.ReasonUndeployed, w.settle(t, e).ErrorReason)
	w.config.Authorizations.DeployGas = 0
	w.restart(t)
	release := w.chain.Hold()
	t.Cleanup(release)
	require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
	w.restart(t)
	require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
	release()
	require.True(t, w.ended(t, e).Success)
	require.Equal(t, dollar, w.moved(t))
	spent, err := w.chain.Client().NonceAt(t.Context(), devchain.Relayer().Address, nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, spent)
}
