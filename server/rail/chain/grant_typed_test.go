package chain_test

import (
	"encoding/json"
	"testing"

	"github.com/ethereum/go-ethereum/signer/core/apitypes"
	"github.com/stretchr/testify/require"
)

// hashTyped returns the hash that a wallet signs for typed data.
func hashTyped(t *testing.T, typed []byte) []byte {
	t.Helper()
	var data apitypes.TypedData
	require.NoError(t, json.Unmarshal(typed, &data))
	hash, _, err := apitypes.TypedDataAndHash(data)
	require.NoError(t, err)
	return hash
}
