package mpp_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mpp"
)

type vectors struct {
	HMACSecretHex    string `json:"hmacSecretHex"`
	Canonicalization []struct {
		Name, Input, Canonical string
		Error                  bool
	}
	Base64URL []struct {
		Name, Encoded, DecodedHex string
		Canonical, Error          bool
	} `json:"base64url"`
	ChallengeHeaders []struct {
		Name   string
		Params mpp.Challenge
		Header string
		Parsed mpp.Challenge
	}
	ChallengeLists []struct {
		Name, Header string
		Challenges   []mpp.Challenge
		Error        bool
	}
	ChallengeIDs []struct {
		Name      string
		Params    mpp.Challenge
		HMACInput string
	} `json:"challengeIds"`
	Credentials []struct {
		Name, CredentialJSON, Header string
		Error                        bool
	}
	Receipts []struct{ Name, ReceiptJSON, Header string }
}

// load reads the vectors, which are not part of this repository. Without them the
// test is skipped, or fails if PAYWARRANT_REQUIRE names vectors.
func load(t *testing.T) vectors {
	t.Helper()
	dir := os.Getenv("PAYWARRANT_VECTORS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "vectors")
	}
	data, err := os.ReadFile(filepath.Join(dir, "mpp", "vectors.json"))
	if os.IsNotExist(err) && !strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "vectors") {
		t.Skip("the vectors of the Payment scheme are not here: set PAYWARRANT_VECTORS to their folder")
	}
	require.NoError(t, err)
	var v vectors
	require.NoError(t, json.Unmarshal(data, &v))
	return v
}

func TestVectorsOfCanonicalJSON(t *testing.T) {
	t.Parallel()
	list := load(t).Canonicalization
	require.NotEmpty(t, list)
	for _, v := range list {
		got, err := mpp.Canonical([]byte(v.Input))
		require.Equal(t, v.Error, err != nil, v.Name)
		require.Equal(t, v.Canonical, string(got), v.Name)
		if !v.Error {
			encoded, err := mpp.EncodeJSON(json.RawMessage(v.Input))
			require.NoError(t, err, v.Name)
			require.Equal(t, base64.RawURLEncoding.EncodeToString([]byte(v.Canonical)), encoded, v.Name)
		}
	}
}

func TestVectorsOfBase64(t *testing.T) {
	t.Parallel()
	list := load(t).Base64URL
	require.NotEmpty(t, list)
	for _, v := range list {
		got, err := mpp.DecodeBase64(v.Encoded)
		require.Equal(t, v.Error, err != nil, v.Name)
		if v.Error {
			continue
		}
		require.Equal(t, v.DecodedHex, hex.EncodeToString(got), v.Name)
		require.Equal(t, v.Canonical, base64.RawURLEncoding.EncodeToString(got) == v.Encoded, v.Name)
	}
}

func TestVectorsOfChallengeHeaders(t *testing.T) {
	t.Parallel()
	list := load(t).ChallengeHeaders
	require.NotEmpty(t, list)
	for _, v := range list {
		header, err := v.Params.Header()
		require.NoError(t, err, v.Name)
		require.Equal(t, v.Header, header, v.Name)
		parsed, err := mpp.ParseChallenges(v.Header)
		require.NoError(t, err, v.Name)
		require.Equal(t, []mpp.Challenge{v.Parsed}, parsed, v.Name)
	}
}

func TestVectorsOfChallengeLists(t *testing.T) {
	t.Parallel()
	list := load(t).ChallengeLists
	require.NotEmpty(t, list)
	for _, v := range list {
		got, err := mpp.ParseChallenges(v.Header)
		require.Equal(t, v.Error, err != nil, v.Name)
		require.Equal(t, v.Challenges, got, v.Name)
	}
}

func TestVectorsOfChallengeIDs(t *testing.T) {
	t.Parallel()
	all := load(t)
	secret, err := hex.DecodeString(all.HMACSecretHex)
	require.NoError(t, err)
	require.NotEmpty(t, all.ChallengeIDs)
	for _, v := range all.ChallengeIDs {
		require.Equal(t, v.Params.ID, challengeID(secret, v.Params), v.Name)
	}
}

func TestVectorsOfCredentials(t *testing.T) {
	t.Parallel()
	list := load(t).Credentials
	require.NotEmpty(t, list)
	for _, v := range list {
		c, err := mpp.ParseCredential(v.Header)
		require.Equal(t, v.Error, err != nil, v.Name)
		if v.Error {
			require.ErrorIs(t, err, mpp.ErrMalformedCredential, v.Name)
			continue
		}
		again, err := c.Header()
		require.NoError(t, err, v.Name)
		_, token := again[:len("Payment ")], again[len("Payment "):]
		data, err := mpp.DecodeBase64(token)
		require.NoError(t, err, v.Name)
		require.JSONEq(t, v.CredentialJSON, string(data), v.Name)
	}
}

func TestVectorsOfReceipts(t *testing.T) {
	t.Parallel()
	list := load(t).Receipts
	require.NotEmpty(t, list)
	receipts := 0
	for _, v := range list {
		data, err := mpp.DecodeToken(v.Header)
		require.NoError(t, err, v.Name)
		require.Equal(t, v.ReceiptJSON, string(data), v.Name)
		var want struct{ Status, Method, Reference string }
		require.NoError(t, json.Unmarshal(data, &want), v.Name)
		r, err := mpp.ParseReceipt(v.Header)
		require.Equal(t, want.Status == "", err != nil, v.Name)
		if err == nil {
			receipts++
			require.Equal(t, []string{want.Method, want.Reference}, []string{r.Method, r.Reference}, v.Name)
		}
	}
	require.Equal(t, 6, receipts)
}
