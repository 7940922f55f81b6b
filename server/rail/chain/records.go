package chain

import "github.com/paywarrant/paywarrant/server/rail/chain/records"

// Store keeps the rail's records.
type Store = records.Store

// Tx reads and writes records within a transaction.
type Tx = records.Tx

// Record is one record of a [Store].
type Record = records.Record

// Kinds of records, with their keys. The relayer has others: "slot", "open", "landed",
// "task", and the cursor "nonce".
const (
	kindConnection     = "connection"     // hash of the reference
	kindGrant          = "grant"          // grant id
	kindProposals      = "proposals"      // hash of a setup session
	kindPermit         = "permit"         // owner and nonce of a permit; the grant that it serves
	kindCharge         = "charge"         // hash of the reference
	kindRefund         = "refund"         // hash of the reference
	kindRefunded       = "refunded"       // as kindCharge; the sum of the charge's refunds that are not refused
	kindAuthorization  = "authorization"  // hash of signer and nonce
	kindTransferCharge = "transfercharge" // reference of the ledger's record; the key of its authorization
	kindReserved       = "reserved"       // payer's address
	kindAccount        = "account"        // grant id; its session account
	kindLoose          = "loose"          // grant id of a session account with free money or a sweep
	kindPurchase       = "purchase"       // hash of the reference
	kindPurchaseNonce  = "purchasenonce"  // as kindAuthorization; the key of the purchase
	kindEnded          = "ended"          // key of a purchase that has ended; its reference
	kindSweep          = "sweep"          // hash of the reference
	kindSighting       = "sighting"       // as kindAuthorization, of one that was verified unused
	kindUndecided      = "undecided"      // grant id that ended before its session did
	kindUndone         = "undone"         // task and transaction of an undone payment that is not reported yet
	kindCursor         = "cursor"         // one of the names below

	cursorWatch = "watch" // the newest block that was watched
	cursorOwner = "owner" // the owner of the records
)

// page bounds the records that are read at a time.
const page = 512
