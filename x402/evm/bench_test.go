package evm_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/x402/evm"
)

// BenchmarkDigest measures how many times faster a digest is than a general
// encoder's ("ratio"), the domain's hash being at hand in ours, as a service has it.
func BenchmarkDigest(b *testing.B) {
	domain := evm.Domain{Name: "USDC", Version: "2", ChainID: 84532, Contract: common.Address{1}}
	message := evm.TransferAuthorization{From: common.Address{2}, To: common.Address{3}, Value: evm.Uint64(10_000), ValidBefore: evm.Uint64(1 << 40)}
	var general apitypes.TypedData
	require.NoError(b, json.Unmarshal(evm.TypedData(domain, message), &general))
	separator := domain.Separator()
	compare(b, func() { _ = evm.Digest(separator, message) }, func() { _, _, _ = apitypes.TypedDataAndHash(general) })
}

// BenchmarkRecover compares with the bare recovery of go-ethereum ("ratio" of speeds).
func BenchmarkRecover(b *testing.B) {
	digest := common.Hash{1}
	signature, err := evm.Sign(digest, keyOf(1))
	require.NoError(b, err)
	bare := append(append([]byte{}, signature[:64]...), signature[64]-27)
	compare(b, func() { _, _ = evm.Recover(digest, signature) }, func() {
		public, _ := crypto.SigToPub(digest[:], bare)
		_ = crypto.PubkeyToAddress(*public)
	})
}

// compare runs both in turn, so that both meet the same weather.
func compare(b *testing.B, ours, baseline func()) {
	b.Helper()
	b.ReportAllocs()
	const turn = 64
	var mine, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		for range turn {
			ours()
		}
		mine += time.Since(start)
		start = time.Now()
		for range turn {
			baseline()
		}
		theirs += time.Since(start)
	}
	b.ReportMetric(float64(theirs)/float64(mine), "ratio")
	b.ReportMetric(float64(mine.Nanoseconds())/float64(b.N*turn), "ns/ours")
}
