package webhook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/webhook"
)

func TestVerifyReturnsTheEvent(t *testing.T) {
	t.Parallel()
	e, err := verifier(secret).Verify(sign(t, noon, payment, secret), payment)
	require.NoError(t, err)
	require.Equal(t, "evt_1", e.ID)
	require.Equal(t, webhook.PaymentSucceeded, e.Type)
	require.Equal(t, noon, e.CreatedAt)
	require.False(t, e.Livemode)
	var p webhook.Payment
	require.NoError(t, json.Unmarshal(e.Data, &p))
	require.EqualValues(t, 250, p.AmountCents)
}

// TestSignatureIsTheOneOfTheSpecification: the value was computed with
// `printf '%s' "t.body" | openssl dgst -sha256 -hmac KEY`.
func TestSignatureIsTheOneOfTheSpecification(t *testing.T) {
	t.Parallel()
	body := []byte(`{"id":"evt_1","type":"x"}`)
	h := sign(t, time.Unix(1795262400, 0), body, secret)
	require.Equal(t, "t=1795262400,v1=a4339d08fd60125fe999a2adfda7630fddd7be71c9e580abbd1bce77f5c87866", h.Get("X-Service-Signature"))
	require.Equal(t, "1795262400", h.Get("webhook-timestamp"))
	require.Equal(t, "evt_1", h.Get("webhook-id"))
}

func TestStandardLibraryVerifies(t *testing.T) {
	t.Parallel()
	library, err := standard.NewWebhook(secret)
	require.NoError(t, err)
	for _, secrets := range [][]string{{secret}, {webhook.NewSecret(), secret}, {secret, webhook.NewSecret()}} {
		require.NoError(t, library.Verify(payment, sign(t, time.Now(), payment, secrets...)))
	}
	require.Error(t, library.Verify(payment, sign(t, time.Now(), payment, webhook.NewSecret())))
}

func TestRotation(t *testing.T) {
	t.Parallel()
	former, current := webhook.NewSecret(), webhook.NewSecret()
	during := sign(t, noon, payment, current, former)
	require.Equal(t, 2, strings.Count(during.Get(webhook.HeaderSignature), "v1="))
	for _, v := range []webhook.Verifier{verifier(former), verifier(current), verifier(current, former)} {
		_, err := v.Verify(during, payment)
		require.NoError(t, err)
	}
	_, err := verifier(current, former).Verify(sign(t, noon, payment, former), payment)
	require.NoError(t, err)
	_, err = verifier(current).Verify(sign(t, noon, payment, former), payment)
	require.ErrorIs(t, err, webhook.ErrSignature)
}

// TestTimestampsFromTheFuture: both directions have the same tolerance.
func TestTimestampsFromTheFuture(t *testing.T) {
	t.Parallel()
	for offset, want := range map[time.Duration]error{
		0: nil, 300 * time.Second: nil, -300 * time.Second: nil,
		301 * time.Second: webhook.ErrTimestamp, -301 * time.Second: webhook.ErrTimestamp, 1e6 * time.Hour: webhook.ErrTimestamp,
	} {
		_, err := verifier(secret).Verify(sign(t, noon.Add(offset), payment, secret), payment)
		require.ErrorIs(t, err, want, offset)
	}
	v := verifier(secret)
	v.Tolerance = time.Second
	_, err := v.Verify(sign(t, noon.Add(-2*time.Second), payment, secret), payment)
	require.ErrorIs(t, err, webhook.ErrTimestamp)
}

// TestSignatureIsOverTheBytes: the same JSON written in another way does not verify.
func TestSignatureIsOverTheBytes(t *testing.T) {
	t.Parallel()
	header := sign(t, noon, payment, secret)
	var spaced bytes.Buffer
	require.NoError(t, json.Indent(&spaced, payment, "", " "))
	for _, body := range [][]byte{spaced.Bytes(), append(bytes.Clone(payment), '\n'), payment[:len(payment)-1], nil} {
		_, err := verifier(secret).Verify(header, body)
		require.ErrorIs(t, err, webhook.ErrSignature)
	}
}

func TestSignatureComesBeforeDecoding(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "null", "[]", "{", `{"id":"evt_1"}`, `{"type":"x"}`, `{"id":1,"type":"x"}`} {
		_, err := verifier(secret).Verify(sign(t, noon, []byte(body), webhook.NewSecret()), []byte(body))
		require.ErrorIs(t, err, webhook.ErrSignature, body)
		_, err = verifier(secret).Verify(sign(t, noon, []byte(body), secret), []byte(body))
		require.ErrorIs(t, err, webhook.ErrMalformed, body)
	}
	large := bytes.Repeat([]byte{' '}, webhook.MaxBody+1)
	_, err := verifier(secret).Verify(sign(t, noon, large, secret), large)
	require.ErrorIs(t, err, webhook.ErrTooLarge)
}

func TestMalformedSignatures(t *testing.T) {
	t.Parallel()
	good := sign(t, noon, payment, secret).Get(webhook.HeaderSignature)
	stamp, v1, _ := strings.Cut(good, ",")
	for _, value := range []string{
		"", stamp, v1, good + "," + stamp, stamp + "," + stamp + "," + v1, "t=," + v1, "t=-1," + v1, "t=1e9," + v1, "t=99999999999999," + v1,
		stamp + ",v0=" + v1[3:], stamp + "," + v1[:20], stamp + ",v1=zz", good + ",", stamp + "," + strings.Repeat("v1=00,", 1000) + v1, "\x00",
	} {
		_, err := verifier(secret).Verify(http.Header{webhook.HeaderSignature: {value}}, payment)
		require.ErrorIs(t, err, webhook.ErrSignature, value)
	}
	for _, values := range [][]string{nil, {good, good}} {
		_, err := verifier(secret).Verify(http.Header{webhook.HeaderSignature: values}, payment)
		require.ErrorIs(t, err, webhook.ErrSignature)
	}
	_, err := verifier(secret).Verify(http.Header{webhook.HeaderSignature: {v1 + ", " + stamp + ", v2=later"}}, payment)
	require.NoError(t, err, "order, spaces and later members do not matter")
}

func TestSecretsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][]string{nil, {""}, {"whsec_"}, {"whsec_c2hvcnQ="}, {"sk_test_x"}, {secret, ""}, {"whsec_%%"}} {
		_, err := verifier(secrets...).Verify(sign(t, noon, payment, secret), payment)
		require.ErrorIs(t, err, webhook.ErrSecret)
		_, err = webhook.Sign("evt_1", noon, payment, secrets...)
		require.ErrorIs(t, err, webhook.ErrSecret)
	}
	_, err := verifier(" "+secret+"\n").Verify(sign(t, noon, payment, secret), payment)
	require.NoError(t, err, "space around a secret from the environment does not matter")
}

func TestPrintingShowsNoSecret(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		require.NotContains(t, fmt.Sprintf(verb, verifier(secret)), secret[6:])
		require.NotContains(t, fmt.Sprintf(verb, webhook.Config{Secrets: []string{secret}}), secret[6:])
	}
}

func TestAnyOtherBodyOrSecretIsRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := []byte(`{"id":"evt_1","type":"x","data":"` + rapid.StringMatching(`[a-z]{0,40}`).Draw(t, "data") + `"}`)
		header := sign(t, noon, body, secret)
		_, err := verifier(secret).Verify(header, body)
		require.NoError(t, err)
		i := rapid.IntRange(0, len(body)-1).Draw(t, "at")
		changed := bytes.Clone(body)
		changed[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		_, err = verifier(secret).Verify(header, changed)
		require.ErrorIs(t, err, webhook.ErrSignature)
		_, err = verifier(webhook.NewSecret()).Verify(header, body)
		require.ErrorIs(t, err, webhook.ErrSignature)
	})
}

// FuzzVerify: whatever the header says, a body passes only with a signature that
// the secret made for it.
func FuzzVerify(f *testing.F) {
	good := sign(f, noon, payment, secret).Get(webhook.HeaderSignature)
	f.Add(good, payment)
	f.Add("t=1,v1=00", []byte("{}"))
	f.Add(strings.ReplaceAll(good, ",", " , "), payment)
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		e, err := verifier(secret).Verify(http.Header{webhook.HeaderSignature: {header}}, body)
		if err != nil {
			return
		}
		require.Equal(t, payment, body)
		require.Contains(t, header, good[len(good)-64:])
		require.Equal(t, "evt_1", e.ID)
	})
}
