package mpp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/paywarrant/paywarrant/mpp"
)

// A server issues a challenge, a client echoes it with a proof, and the server verifies
// that the challenge is its own.
func Example() {
	signer, err := mpp.NewSigner("a secret of at least sixteen bytes") // from the environment
	if err != nil {
		fmt.Println(err)
		return
	}
	request, _ := mpp.EncodeJSON(mpp.ChargeRequest{
		Amount: "10000", Currency: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", Recipient: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
		MethodDetails: mpp.MethodDetails{ChainID: 84532, CredentialTypes: []string{mpp.CredentialAuthorization}, Decimals: 6},
	})
	issuer, err := mpp.NewIssuer(signer, mpp.Challenge{
		Realm: "api.example.com", Method: mpp.MethodEVM, Intent: mpp.IntentCharge, Request: request,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := func(w http.ResponseWriter, r *http.Request) {
		c, err := mpp.CredentialFrom(r.Header)
		switch {
		case errors.Is(err, mpp.ErrNoCredential):
			w.Header().Add(mpp.HeaderChallenge, issuer.Issue(time.Now().Add(time.Minute)).Header)
			w.WriteHeader(http.StatusPaymentRequired)
		case err != nil || !signer.Verify(c.Challenge):
			w.WriteHeader(mpp.ProblemInvalidChallenge.Status())
		default: // settle the payload, then serve
			fmt.Fprintln(w, "settle", string(c.Payload))
		}
	}

	asked := httptest.NewRecorder()
	server(asked, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	challenges, err := mpp.ParseChallenges(asked.Header().Values(mpp.HeaderChallenge)...)
	fmt.Println(asked.Code, len(challenges), err)

	paid := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	credential, _ := mpp.Credential{Challenge: challenges[0], Payload: json.RawMessage(`{"type":"authorization"}`)}.Header()
	paid.Header.Set(mpp.HeaderCredential, credential)
	served := httptest.NewRecorder()
	server(served, paid)
	fmt.Print(served.Code, " ", served.Body)
	// Output:
	// 402 1 <nil>
	// 200 settle {"type":"authorization"}
}

func ExampleReceipt_Header() {
	header, err := mpp.Receipt{
		Method: mpp.MethodEVM, Reference: "0xabc", Status: mpp.StatusSuccess, Timestamp: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC),
	}.Header()
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := mpp.ParseReceipt(header)
	fmt.Println(r.Reference, r.Timestamp.Format(time.DateOnly), err)
	// Output: 0xabc 2026-11-22 <nil>
}

func ExampleWeight() {
	wanted, err := mpp.ParseAccept("evm/charge;q=0.5, tempo/*")
	fmt.Println(mpp.Weight(wanted, "evm", "charge"), mpp.Weight(wanted, "tempo", "charge"), mpp.Weight(wanted, "card", "charge"), err)
	// Output: 500 1000 0 <nil>
}
