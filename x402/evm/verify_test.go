package evm_test

import (
	"context"
	"errors"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/contracts/contracttest"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
	"github.com/paywarrant/paywarrant/x402/evm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked is a chain that answers calls, and counts them.
type asked struct {
	client *ethclient.Client
	calls  int
	fail   error
}

func (a *asked) Call(ctx context.Context, to *common.Address, data []byte, gas uint64) ([]byte, error) {
	a.calls++
	if a.fail != nil {
		return nil, a.fail
	}
	answer, err := a.client.CallContract(ctx, ethereum.CallMsg{To: to, Data: data, Gas: gas}, nil)
	var refused rpc.DataError
	if errors.As(err, &refused) {
		return nil, nil
	}
	return answer, err
}

func (a *asked) Code(ctx context.Context, at common.Address) ([]byte, error) {
	return a.client.CodeAt(ctx, at, nil)
}

// world is a chain with a factory of wallets, and wallets of two keys, of which
// only the first is deployed.
type world struct {
	chain                 *asked
	verifier              evm.Verifier
	factory               common.Address
	deployed, counterfeit common.Address
}

func setup(t *testing.T) world {
	t.Helper()
	chain := devchaintest.Start(t, devchain.Config{})
	client := chain.Client()
	opts := bind.NewKeyedTransactor(devchain.Wallets()[0].Key(), big.NewInt(devchain.ChainID))
	result, err := bind.LinkAndDeploy(&bind.DeploymentParams{Contracts: []*bind.MetaData{&contracttest.SmartWalletFactoryMetaData}}, bind.DefaultDeployer(opts, client))
	require.NoError(t, err)
	w := world{chain: &asked{client: client}, factory: result.Addresses[contracttest.SmartWalletFactoryMetaData.ID]}
	w.verifier.Chain = w.chain
	_, err = bind.WaitDeployed(t.Context(), client, result.Txs[contracttest.SmartWalletFactoryMetaData.ID].Hash())
	require.NoError(t, err)
	factory := contracttest.NewSmartWalletFactory()
	at := func(n byte) common.Address {
		answer, err := client.CallContract(t.Context(), ethereum.CallMsg{To: &w.factory, Data: factory.PackAddressOf(addressOf(n))}, nil)
		require.NoError(t, err)
		return common.BytesToAddress(answer)
	}
	w.deployed, w.counterfeit = at(1), at(2)
	tx, err := bind.Transact(bind.NewBoundContract(w.factory, parsed(t), client, client, client), opts, factory.PackCreate(addressOf(1)))
	require.NoError(t, err)
	_, err = bind.WaitMined(t.Context(), client, tx.Hash())
	require.NoError(t, err)
	return w
}

func TestVerify(t *testing.T) {
	t.Parallel()
	w := setup(t)
	digest := common.Hash{7}
	sign := func(n byte) []byte {
		signature, err := evm.Sign(digest, keyOf(n))
		require.NoError(t, err)
		return signature
	}
	create := func(n byte) []byte { return contracttest.NewSmartWalletFactory().PackCreate(addressOf(n)) }
	wrap := func(call, signature []byte) []byte {
		return evm.Wrapped{Factory: w.factory, FactoryCall: call, Signature: signature}.Wrap()
	}
	for name, c := range map[string]struct {
		account   common.Address
		signature []byte
		contract  bool
		deploy    bool
		err       error
	}{
		"key":                                 {account: addressOf(3), signature: sign(3)},
		"another key":                         {account: addressOf(3), signature: sign(1), err: evm.ErrSignature},
		"key, no signature":                   {account: addressOf(3), err: evm.ErrSignature},
		"wallet":                              {account: w.deployed, signature: sign(1), contract: true},
		"wallet, another key":                 {account: w.deployed, signature: sign(2), err: evm.ErrSignature},
		"wallet, wrapped":                     {account: w.deployed, signature: wrap(create(1), sign(1)), contract: true},
		"wallet, wrapped, another key":        {account: w.deployed, signature: wrap(create(1), sign(2)), err: evm.ErrSignature},
		"wallet to come":                      {account: w.counterfeit, signature: wrap(create(2), sign(2)), contract: true, deploy: true},
		"wallet to come, not wrapped":         {account: w.counterfeit, signature: sign(2), err: evm.ErrSignature},
		"wallet to come, another key":         {account: w.counterfeit, signature: wrap(create(2), sign(1)), err: evm.ErrSignature},
		"wallet to come, another's factory":   {account: w.counterfeit, signature: wrap(create(4), sign(2)), err: evm.ErrSignature},
		"wallet to come, factory that fails":  {account: w.counterfeit, signature: wrap([]byte{1}, sign(2)), err: evm.ErrSignature},
		"a key's address, somebody's factory": {account: addressOf(3), signature: wrap(create(1), sign(1)), err: evm.ErrSignature},
		"token that is no wallet":             {account: devchain.USDC(), signature: sign(1), err: evm.ErrSignature},
		"mark without wrapper":                {account: addressOf(3), signature: evm.Wrapped{}.Wrap()[96:], err: evm.ErrWrapper},
	} {
		signer, err := w.verifier.Verify(t.Context(), c.account, digest, c.signature)
		require.ErrorIs(t, err, c.err, name)
		require.Equal(t, c.contract, signer.Contract, name)
		require.Equal(t, c.deploy, signer.Deploy != nil, name)
		if c.err == nil {
			require.Len(t, signer.Signature, evm.SignatureSize, name)
		}
	}
	code, err := w.chain.Code(t.Context(), w.counterfeit)
	require.NoError(t, err)
	require.Empty(t, code, "asking deploys nothing")
}

// TestChainThatFailsIsNoVerdict: without a response the result is unknown.
func TestChainThatFailsIsNoVerdict(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.chain.fail = errors.New("no answer")
	for _, c := range []struct {
		account   common.Address
		signature []byte
	}{
		{w.deployed, make([]byte, 65)},
		{w.counterfeit, evm.Wrapped{Factory: w.factory}.Wrap()},
	} {
		_, err := w.verifier.Verify(t.Context(), c.account, common.Hash{}, c.signature)
		require.ErrorIs(t, err, w.chain.fail)
		require.NotErrorIs(t, err, evm.ErrSignature)
	}
}

// TestKeysAreAskedOffline: for an account without code the chain runs nothing.
func TestKeysAreAskedOffline(t *testing.T) {
	t.Parallel()
	w := setup(t)
	signature, err := evm.Sign(common.Hash{1}, keyOf(3))
	require.NoError(t, err)
	_, err = w.verifier.Verify(t.Context(), addressOf(3), common.Hash{1}, signature)
	require.NoError(t, err)
	require.Zero(t, w.chain.calls)
}
