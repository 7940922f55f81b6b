package mandate_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

// vectorIssuer is the issuer that the vectors' profile trusts.
const vectorIssuer = "https://issuer.mandates.example"

type vector struct {
	Name              string          `json:"name"`
	Token             string          `json:"token"`
	IssuerJWKS        json.RawMessage `json:"issuer_jwks"`
	Now               int64           `json:"now"`
	RequireKeyBinding bool            `json:"require_key_binding"`
	ExpectedAud       string          `json:"expected_aud"`
	ExpectedNonce     string          `json:"expected_nonce"`
	Valid             bool            `json:"valid"`
	Reason            mandate.Reason  `json:"reason"`
	Note              string          `json:"note"`
}

// vectorsDir is the folder of the shared vectors. Without it the test is skipped,
// or fails if PAYWARRANT_REQUIRE names vectors.
func vectorsDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("PAYWARRANT_VECTORS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "vectors")
	}
	if _, err := os.Stat(dir); err != nil {
		if strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "vectors") {
			t.Fatalf("the shared test vectors are missing (PAYWARRANT_VECTORS names their folder): %v", err)
		}
		t.Skip("the shared test vectors are not here (set PAYWARRANT_VECTORS to their folder)")
	}
	return dir
}

func vectors(t testing.TB) []vector {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(vectorsDir(t), "mandate", "vectors.json"))
	require.NoError(t, err)
	var vs []vector
	require.NoError(t, json.Unmarshal(b, &vs))
	require.NotEmpty(t, vs)
	return vs
}

func (v vector) verifier(t testing.TB) *mandate.Verifier {
	t.Helper()
	keys, err := mandate.ParseJWKS(v.IssuerJWKS)
	require.NoError(t, err)
	return &mandate.Verifier{
		Issuer: vectorIssuer,
		Keys:   mandate.StaticKeys(keys...),
		Clock:  func() time.Time { return time.Unix(v.Now, 0) },
	}
}

func (v vector) expect() mandate.Expect {
	return mandate.Expect{
		Audience: v.ExpectedAud, Nonce: v.ExpectedNonce,
		AllowUnbound: !v.RequireKeyBinding, IgnoreTransaction: true,
	}
}

// reasonOf is the reason of a refusal, empty for nil.
func reasonOf(t testing.TB, err error) mandate.Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	var e *mandate.Error
	require.ErrorAs(t, err, &e)
	return e.Reason
}

func TestVectorsGiveTheirVerdictAndReason(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			verifier := v.verifier(t)
			for range 2 { // the second time from the cache
				p, err := verifier.VerifyPresentation(context.Background(), v.Token, v.expect())
				require.Equal(t, v.Reason, reasonOf(t, err), v.Note)
				require.Equal(t, v.Valid, err == nil)
				if err == nil {
					requireSame(t, plain(t, v.Token), p.Mandate)
				} else {
					require.NotErrorIs(t, err, mandate.ErrUnavailable)
				}
			}
		})
	}
}
