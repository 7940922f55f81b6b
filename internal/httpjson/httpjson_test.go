package httpjson_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/httpjson"
)

type body struct {
	Amount  int64             `json:"amount"`
	Name    string            `json:"name"`
	When    time.Time         `json:"when"`
	Tags    []string          `json:"tags"`
	Details map[string]string `json:"details"`
}

func decode(text, contentType string) (body, error) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(text))
	r.Header.Set("Content-Type", contentType)
	var b body
	err := httpjson.Decode(httptest.NewRecorder(), r, &b)
	return b, err
}

func TestDecodeIsStrict(t *testing.T) {
	t.Parallel()
	for text, field := range map[string]string{
		`{"amount":100.0}`:                "amount",
		`{"amount":1e2}`:                  "amount",
		`{"amount":"100"}`:                "amount",
		`{"amount":99999999999999999999}`: "amount",
		`{"amount":1,"amount":2}`:         "amount",
		`{"name":7}`:                      "name",
		`{"when":"yesterday"}`:            "when",
		`{"tags":["a",1]}`:                "tags.1",
		`{"details":{"k":{}}}`:            "details.k",
		`{"amount":1} {"amount":2}`:       "",
		`{"amount":1`:                     "",
		`[]`:                              "",
		"{\"name\":\"\xff\"}":             "",
		`nonsense`:                        "",
	} {
		_, err := decode(text, "application/json")
		var e *httpjson.FieldError
		require.ErrorAs(t, err, &e, text)
		require.Equal(t, field, e.Field, text)
		require.NotContains(t, e.Message, "Go", text)
	}
}

func TestDecodeAcceptsWhatItShould(t *testing.T) {
	t.Parallel()
	b, err := decode(`{"amount":100,"unknown":[{}],"AMOUNT":7,"when":"2027-01-31T00:00:00Z"}`, "application/json; charset=utf-8")
	require.NoError(t, err)
	require.EqualValues(t, 100, b.Amount)
	_, err = decode("", "")
	require.NoError(t, err)
}

// TestMisspelledNamesAreRefused: a limit that was misspelled is not left out in silence.
func TestMisspelledNamesAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"maxDailySpendCent", "maxDailySpendCentss", "maxDailySpndCents", "maxDailyspendCents", "maxDailySpedCents", "maxDailySpenCdents"} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"limits":{"`+name+`":5}}`))
		r.Header.Set("Content-Type", "application/json")
		var b struct {
			Limits *struct {
				Max  int64 `json:"maxDailySpendCents"`
				Name int64 `json:"name"`
			} `json:"limits"`
		}
		var e *httpjson.FieldError
		require.ErrorAs(t, httpjson.Decode(httptest.NewRecorder(), r, &b), &e, name)
		require.Equal(t, "limits."+name, e.Field)
		require.Equal(t, "is not known; did you mean maxDailySpendCents?", e.Message)
	}
	_, err := decode(`{"amnt":1,"nam":"a","metadata":{},"whenever":1}`, "application/json")
	require.NoError(t, err)
}

func TestDecodeLimits(t *testing.T) {
	t.Parallel()
	_, err := decode(`{"name":"`+strings.Repeat("a", httpjson.MaxBody)+`"}`, "application/json")
	require.ErrorIs(t, err, httpjson.ErrTooLarge)
	_, err = decode(`{}`, "text/plain")
	require.ErrorIs(t, err, httpjson.ErrMediaType)
}

func TestTimesHaveMilliseconds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.FixedZone("", 3600))
	got := httpjson.Marshal(map[string]any{"b": struct {
		T time.Time `json:"t,omitzero"`
		Z time.Time `json:"z,omitzero"`
	}{T: at}, "a": 1})
	require.Equal(t, `{"a":1,"b":{"t":"2026-11-21T09:00:00.000Z"}}`, string(got))
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"amount":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b body
		if err := httpjson.Unmarshal(data, &b); err != nil {
			var e *httpjson.FieldError
			require.ErrorAs(t, err, &e)
		}
	})
}
