package mandate_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

// BenchmarkES256Verify is the baseline: what the signature alone costs.
func BenchmarkES256Verify(b *testing.B) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(b, err)
	sum := sha256.Sum256([]byte("baseline"))
	sig, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if !ecdsa.VerifyASN1(&key.PublicKey, sum[:], sig) {
			b.Fatal("signature refused")
		}
	}
}

func benchmarkVerify(b *testing.B, cacheSize int) {
	f := setup(b)
	token := f.issue(b).Reveal()
	v := f.verifier()
	v.CacheSize = cacheSize
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(context.Background(), token); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerifyCold verifies everything each time.
func BenchmarkVerifyCold(b *testing.B) { benchmarkVerify(b, -1) }

// BenchmarkVerifyCached sees one mandate again and again.
func BenchmarkVerifyCached(b *testing.B) { benchmarkVerify(b, 0) }

// BenchmarkVerifyPresentation checks a fresh binding of a mandate that is known.
func BenchmarkVerifyPresentation(b *testing.B) {
	f := setup(b)
	p := f.present(b, f.issue(b)).Reveal()
	v := f.verifier()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.VerifyPresentation(context.Background(), p, mandate.Expect{Audience: audience, Nonce: nonce}); err != nil {
			b.Fatal(err)
		}
	}
}
