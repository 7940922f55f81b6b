package server_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// emailForm is the form of a person who gives an address.
func emailForm(c caller, changes map[string]string) map[string]string {
	form := map[string]string{"method": "card_visa", "expires": c.Clock.Now().AddDate(0, 1, 0).Format("2006-01-02"), "email": "ada@example.com"}
	for name, value := range changes {
		form[name] = value
	}
	return form
}

// TestMerchantCannotConfirmForAnAddressItDoesNotHave: the merchant knows the session's token
// and can send any form, but not the code.
func TestMerchantCannotConfirmForAnAddressItDoesNotHave(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open})
			s, other := c.session(t), c.session(t)
			pending := func() {
				t.Helper()
				got, err := c.Client().Session(t.Context(), s.SessionToken)
				require.NoError(t, err)
				require.Equal(t, client.SessionPending, got.Status)
				require.Empty(t, c.letters())
			}
			resp, text := post(t, s.SetupURL, formOf(emailForm(c, nil)), "same-origin")
			require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
			require.Contains(t, text, "A code was mailed to ada@example.com")
			require.Contains(t, text, `id="notice"`)
			require.NotContains(t, text, `aria-invalid`, "nothing is wrong")
			require.Contains(t, text, `name="maxPerTx" type="text" inputmode="decimal" autocomplete="off" required value="5.00"`, "what was entered is still there")
			first := code(t, c.Mails, 0)
			pending()
			for _, forged := range []map[string]string{
				{"proven": "yes"},
				{"mailed": "ada@example.com"},
				{"mailed": "ada@example.com", "code": "12345"},
				{"mailed": "ada@example.com", "code": wrongCode(first)},
			} {
				resp, _ = post(t, s.SetupURL, formOf(emailForm(c, forged)), "same-origin")
				require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, forged)
				pending()
			}
			// The code of one session, in another.
			before := len(c.Mails())
			mine := formOf(emailForm(c, nil))
			c.prove(t, s.SetupURL, mine)
			require.Greater(t, len(c.Mails()), before)
			resp, text = post(t, other.SetupURL, mine, "same-origin")
			require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
			require.Contains(t, text, "This code is not valid any more")
			for left := 4; left >= 0; left-- {
				wrong := formOf(emailForm(c, map[string]string{"mailed": "ada@example.com", "code": wrongCode(mine.Get("code"))}))
				resp, text = post(t, s.SetupURL, wrong, "same-origin")
				require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
				if left > 0 {
					require.Contains(t, text, fmt.Sprintf(`<strong class="wrong">This is not the code. Attempts left: %d.</strong>`, left), "beside the field")
				}
			}
			require.Contains(t, text, "This code is not valid any more")
			resp, text = post(t, s.SetupURL, mine, "same-origin")
			require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, "the right code comes too late")
			require.Contains(t, text, "Mail me another code")
			pending()

			c.prove(t, s.SetupURL, mine)
			mine.Set("email", " Ada@Example.com")
			status, page := c.form(t, s.SetupURL, mine)
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, page, "can be paid within your limits")
			mailed := c.mail(t)
			require.Equal(t, "ada@example.com", mailed.To)
		})
	}
}

func wrongCode(code string) string {
	if strings.HasPrefix(code, "1") {
		return "2" + code[1:]
	}
	return "1" + code[1:]
}

// TestProvenAddressStaysProvenWhenTheCardIsRefused: and no attempt of a payment method is
// spent before the address is proven.
func TestProvenAddressStaysProvenWhenTheCardIsRefused(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	s := c.session(t)
	form := formOf(emailForm(c, map[string]string{"method": "card_declined"}))
	resp, _ := post(t, s.SetupURL, form, "same-origin")
	require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
	form.Set("mailed", "ada@example.com")
	form.Set("code", code(t, c.Mails, 0))
	resp, text := post(t, s.SetupURL, form, "same-origin")
	require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
	require.Contains(t, text, "attempts left: 4")
	require.Contains(t, text, "You have proven this address.")
	proof := regexp.MustCompile(`name="proven" value="([^"]+)"`).FindStringSubmatch(text)[1]
	again := formOf(emailForm(c, map[string]string{"proven": proof}))
	// The proof is for one address in one session.
	forged := formOf(emailForm(c, map[string]string{"proven": proof, "email": "eve@example.com"}))
	resp, _ = post(t, s.SetupURL, forged, "same-origin")
	require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
	resp, _ = post(t, c.session(t).SetupURL, again, "same-origin")
	require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
	status, page := c.form(t, s.SetupURL, again)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "can be paid within your limits")
	require.Equal(t, "ada@example.com", c.mail(t).To)
}
