// Package mpp reads and writes the "Payment" HTTP authentication scheme
// (draft-httpauth-payment-00) with its charge intent on EVM chains
// (draft-payment-intent-charge-00, draft-evm-charge-00), in both directions.
//
// A server challenges without storing anything: the id of a [Challenge] is an HMAC over
// its parameters.
//
//	signer, err := mpp.NewSigner(os.Getenv("PAYWALL_SECRET"))
//	issuer, err := mpp.NewIssuer(signer, mpp.Challenge{Realm: "api.example.com", Method: mpp.MethodEVM, Intent: mpp.IntentCharge, Request: request})
//	w.Header().Set("WWW-Authenticate", issuer.Issue(time.Now().Add(time.Minute)).Header)
//
// It then reads the credential that the client sends:
//
//	c, err := mpp.CredentialFrom(r.Header)
//	if err != nil || !signer.Verify(c.Challenge) {
//		// respond with a fresh challenge and a Problem
//	}
//
// Header fields follow RFC 9110 §11 and §5.6, JSON is canonical by RFC 8785, and problems
// follow RFC 9457. The package does not verify the payer's signature and does not call a
// chain.
package mpp

// Names of the headers of the scheme.
const (
	// HeaderChallenge carries challenges.
	HeaderChallenge = "WWW-Authenticate"
	// HeaderCredential carries a credential.
	HeaderCredential = "Authorization"
	// HeaderCredentialAside carries a credential if the application uses Authorization
	// for its own.
	HeaderCredentialAside = "Payment-Authorization"
	// HeaderReceipt carries a receipt.
	HeaderReceipt = "Payment-Receipt"
	// HeaderAccept carries the client's preferences among payment methods.
	HeaderAccept = "Accept-Payment"
)

// Scheme is the name of the authentication scheme.
const Scheme = "Payment"

// Methods and intents that this package supports.
const (
	MethodEVM    = "evm"    // tokens on EVM chains
	IntentCharge = "charge" // one payment, at once
)

// Limits on parsed input.
const (
	// MaxChallengeHeader is the longest list of challenges that is parsed, in bytes.
	MaxChallengeHeader = 64 << 10
	// MaxCredentialHeader is the longest credential that is parsed, in bytes.
	MaxCredentialHeader = 16 << 10
	// MaxReceiptHeader is the longest receipt that is parsed, in bytes.
	MaxReceiptHeader = 8 << 10

	maxChallenges = 64
)
