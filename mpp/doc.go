// Package mpp reads and writes the "Payment" HTTP authentication scheme
// (draft-httpauth-payment-00) with its charge intent on EVM chains
// (draft-payment-intent-charge-00, draft-evm-charge-00), in both directions.
//
// A server challenges, statelessly: the id of a [Challenge] is an HMAC over
// everything else in it, so that nothing is stored until it is paid.
//
//	signer, err := mpp.NewSigner(os.Getenv("PAYWALL_SECRET"))
//	issuer, err := mpp.NewIssuer(signer, mpp.Challenge{Realm: "api.example.com", Method: mpp.MethodEVM, Intent: mpp.IntentCharge, Request: request})
//	w.Header().Set("WWW-Authenticate", issuer.Issue(time.Now().Add(time.Minute)))
//
// and reads the credential that comes back:
//
//	c, err := mpp.CredentialFrom(r.Header)
//	if err != nil || !signer.Verify(c.Challenge) {
//		// answer a fresh challenge and a Problem
//	}
//
// Header fields follow RFC 9110 §11 and §5.6, JSON is canonical by RFC 8785, and
// problems are those of RFC 9457. The payer's signature is not checked here, and
// no chain is asked.
package mpp

// Names of the headers of the scheme.
const (
	HeaderChallenge  = "WWW-Authenticate"
	HeaderCredential = "Authorization"
	// HeaderCredentialAside carries a credential where Authorization is taken by
	// the application.
	HeaderCredentialAside = "Payment-Authorization"
	HeaderReceipt         = "Payment-Receipt"
	// HeaderAccept is the client's preference among payment methods.
	HeaderAccept = "Accept-Payment"
)

// Scheme is the name of the authentication scheme.
const Scheme = "Payment"

// Methods and intents known here.
const (
	MethodEVM    = "evm"
	IntentCharge = "charge"
)

// Limits on what is read.
const (
	// MaxChallengeHeader is the longest list of challenges that is parsed, in bytes.
	MaxChallengeHeader = 64 << 10
	// MaxCredentialHeader is the longest credential that is parsed, in bytes.
	MaxCredentialHeader = 16 << 10
	// MaxReceiptHeader is the longest receipt that is parsed, in bytes.
	MaxReceiptHeader = 8 << 10

	maxChallenges = 64
)
