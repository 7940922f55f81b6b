package x402_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/x402"
)

const uptoPayment = `{"x402Version":2,"accepted":{"scheme":"upto","network":"eip155:84532","amount":"100000",
"asset":"0x036CbD53842c5426634e7929541eC2318f3dCF7e","payTo":"0x011C0f3cedF7ff87fFD98Bc21Df1ef8cB80e0a47","maxTimeoutSeconds":300,
"extra":{"name":"USDC","version":"2","assetTransferMethod":"permit2","facilitatorAddress":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}},
"payload":{"signature":"0x01","permit2Authorization":{"from":"0x857b06519E91e3A54538791bDbb0E22373e36b66",
"permitted":{"token":"0x036CbD53842c5426634e7929541eC2318f3dCF7e","amount":"100000"},"spender":"0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002",
"nonce":"7","deadline":"1800000300","witness":{"to":"0x011C0f3cedF7ff87fFD98Bc21Df1ef8cB80e0a47",
"facilitator":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","validAfter":"1800000000"}}}}`

func TestDecodeUpto(t *testing.T) {
	t.Parallel()
	p, err := x402.DecodePayload(base64.StdEncoding.EncodeToString([]byte(uptoPayment)))
	require.NoError(t, err)
	require.NotNil(t, p.Upto)
	require.NoError(t, p.Upto.Validate())
	a := p.Upto.Authorization
	require.Equal(t, "100000", a.Permitted.Amount)
	require.Equal(t, "7", a.Nonce)
	require.Equal(t, x402.ReasonUptoEarly, a.CheckWindow(time.Unix(1_799_999_999, 0)))
	require.Empty(t, a.CheckWindow(time.Unix(1_800_000_000, 0)))
	require.Equal(t, x402.ReasonUptoExpired, a.CheckWindow(time.Unix(1_800_000_300, 0)))
}

func TestDecodeUptoNamesTheMalformedField(t *testing.T) {
	t.Parallel()
	for field, change := range map[string][2]string{
		"payload.permit2Authorization.from":                {"0x857b06519E91e3A54538791bDbb0E22373e36b66", "0x857b"},
		"payload.permit2Authorization.nonce":               {`"nonce":"7"`, `"nonce":"-7"`},
		"payload.permit2Authorization.permitted.amount":    {`7e","amount":"100000"},"spender"`, `7e","amount":100000},"spender"`},
		"payload.permit2Authorization.witness":             {`"witness":{`, `"other":{`},
		"payload.permit2Authorization.witness.facilitator": {`"facilitator":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"`, `"facilitator":""`},
		"payload.permit2Authorization":                     {`"permit2Authorization"`, `"authorization"`},
	} {
		text := strings.Replace(uptoPayment, change[0], change[1], 1)
		require.NotEqual(t, uptoPayment, text, field)
		_, err := x402.DecodePayload(base64.StdEncoding.EncodeToString([]byte(text)))
		var malformed *x402.DecodeError
		require.ErrorAs(t, err, &malformed)
		require.Equal(t, field, malformed.Field)
	}
}
