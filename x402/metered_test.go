package x402_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/x402"
)

func TestMeteredReceiptIsDecodedAsItWasEncoded(t *testing.T) {
	t.Parallel()
	for _, usage := range []*x402.Usage{nil, {Unit: "\"token\" <é>", Quantity: 500, UnitPriceMicros: 7}} {
		s := x402.Settlement{Success: true, Transaction: "0x01", Network: "eip155:84532", Payer: "del_1", Metered: &x402.Metered{
			TransactionID: "txn_1", AuthorizedMicros: 100_000, MeteredMicros: 3500, CapturedMicros: 3000, Usage: usage,
		}}
		got, err := x402.DecodeSettlement(s.Header())
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
}

// TestForeignMeteredMemberIsIgnored: the rest of the receipt is good.
func TestForeignMeteredMemberIsIgnored(t *testing.T) {
	t.Parallel()
	for _, member := range []string{
		`true`, `"1"`, `[]`, `null`, `{}`, `{"transactionId":"txn_1","capturedMicros":-1}`, `{"transactionId":"txn_1","capturedMicros":"1"}`,
		`{"transactionId":"txn_1","usage":{"unit":"a","quantity":-1}}`,
	} {
		text := `{"success":true,"transaction":"0x01","network":"base","metered":` + member + `}`
		got, err := x402.DecodeSettlement(base64.StdEncoding.EncodeToString([]byte(text)))
		require.NoError(t, err, member)
		require.Equal(t, x402.Settlement{Success: true, Transaction: "0x01", Network: "base"}, got, member)
	}
}
