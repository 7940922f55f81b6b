package failpoint

// The points of the chain rail: in a grant, a charge on the chain, any transaction of the
// relayer, a revocation, a signed transfer, and the rail's records.
const (
	// GrantProposed: a session key is sealed in the records; no wallet was asked to sign yet.
	GrantProposed Point = "grant-proposed"
	// GrantSigned: the wallet's signatures are stored; nothing is connected with them yet.
	GrantSigned Point = "grant-signed"
	// ConnectBegun: a connection has its grant; nothing was relayed yet.
	ConnectBegun Point = "connect-begun"
	// GrantStored: the grant's transaction is in the records; it was not sent yet.
	GrantStored Point = "grant-stored"
	// GrantSent: the node has received it.
	GrantSent Point = "grant-sent"
	// GrantLanded: it is in a block; the connection is not decided yet.
	GrantLanded Point = "grant-landed"
	// ConnectDecided: the connection is decided; its mandate does not exist yet.
	ConnectDecided Point = "connect-decided"
	// MandateUnbound: the mandate exists; its grant is not bound to it yet.
	MandateUnbound Point = "mandate-unbound"

	// TransferSigned: the session key has signed a charge; there is no record of it yet.
	TransferSigned Point = "transfer-signed"
	// TransferStored: a charge and its transaction are in the records; it was not sent yet.
	TransferStored Point = "transfer-stored"
	// TransferSent: the node has received it.
	TransferSent Point = "transfer-sent"
	// TransferLanded: it is final on the chain; the records do not say so yet.
	TransferLanded Point = "transfer-landed"
	// TransferDecided: the records have its outcome; the ledger does not yet.
	TransferDecided Point = "transfer-decided"
	// TransferRefused: the records say that nothing was broadcast; the ledger does not yet.
	TransferRefused Point = "transfer-refused"

	// NonceTaken: a transaction is signed with the next nonce; neither is stored yet.
	NonceTaken Point = "nonce-taken"
	// NonceLost: another program used a nonce; the work that had it has no other one yet.
	NonceLost Point = "nonce-lost"
	// Forgotten: the node does not know a transaction, which is about to be sent again.
	Forgotten Point = "transaction-forgotten"
	// Reopened: a final transaction is tracked again; it was not sent again yet.
	Reopened Point = "transaction-reopened"
	// Buried: a transaction is so deep in the chain that it is no longer tracked.
	Buried Point = "transaction-buried"
	// ReplacementSigned: a transaction with higher fees is signed; it is not stored yet.
	ReplacementSigned Point = "replacement-signed"
	// ReplacementStored: it is in the records; it was not sent yet.
	ReplacementStored Point = "replacement-stored"
	// ReplacementSent: the node has received it.
	ReplacementSent Point = "replacement-sent"

	// RevokeRecorded: the ledger has a mandate's revocation; no rail knows yet.
	RevokeRecorded Point = "revoke-recorded"
	// KeyDestroyed: its session key is destroyed; the grant is still on the chain.
	KeyDestroyed Point = "revoke-key-destroyed"
	// InstrumentBegun: an instrument has a row; no rail was asked to connect it yet.
	InstrumentBegun Point = "instrument-begun"
	// InstrumentEnded: a rail has ended an instrument; the ledger does not know yet.
	InstrumentEnded Point = "instrument-ended"
	// UnwindingTaken: an unwinding is leased; nothing of it was done yet.
	UnwindingTaken Point = "unwinding-taken"
	// UnwindingEnded: an unwinding is complete.
	UnwindingEnded Point = "unwinding-ended"
	// RevokeStored: the revocation's transaction is in the records; it was not sent yet.
	RevokeStored Point = "revoke-stored"
	// RevokeSent: the node has received it.
	RevokeSent Point = "revoke-sent"

	// WatcherSaw: the watcher has read a revocation from the chain; it has stored nothing yet.
	WatcherSaw Point = "watcher-saw"
	// WatcherDestroyed: it has destroyed the session key; it has not reported it yet.
	WatcherDestroyed Point = "watcher-key-destroyed"
	// WatcherReported: the ledger knows; the watcher's position has not moved yet.
	WatcherReported Point = "watcher-told"
	// WatcherMoved: the watcher's position has moved.
	WatcherMoved Point = "watcher-moved"
	// WatcherRewound: the watcher's last block is gone; it is about to go back.
	WatcherRewound Point = "watcher-rewound"

	// AuthorizationChecked: a signed transfer is valid; there is no record of it yet.
	AuthorizationChecked Point = "authorization-checked"
	// AuthorizationStored: it and its transaction are in the records; it was not sent yet.
	AuthorizationStored Point = "authorization-stored"
	// AuthorizationSent: the node has received it.
	AuthorizationSent Point = "authorization-sent"
	// AuthorizationLanded: it is final on the chain; the records do not say so yet.
	AuthorizationLanded Point = "authorization-landed"
	// AuthorizationDecided: the records have its outcome; the caller does not know yet.
	AuthorizationDecided Point = "authorization-decided"
	// AuthorizationAnswered: the records say that the caller knows; the response was not sent yet.
	AuthorizationAnswered Point = "authorization-told"

	// RefundProposed: a refund is in the records; its payee was not asked to sign yet.
	RefundProposed Point = "refund-proposed"
	// RefundConcluded: the records have the outcome of a refund; the ledger does not yet.
	RefundConcluded Point = "refund-concluded"

	// PurchaseOpened: a purchase from a seller is in the records; no money has moved for it.
	PurchaseOpened Point = "purchase-opened"
	// PurchaseFunded: the money is in the session account; nothing is signed yet.
	PurchaseFunded Point = "purchase-funded"
	// PurchaseSigned: the signed transfer is in the records; the agent does not have it yet.
	PurchaseSigned Point = "purchase-signed"
	// PurchaseEnded: the records have the outcome of a purchase; the ledger does not yet.
	PurchaseEnded Point = "purchase-ended"
	// SweepOpened: a signed sweep is in the records; it was not sent yet.
	SweepOpened Point = "sweep-opened"
	// SweepEnded: the records have the outcome of a sweep; the ledger does not yet.
	SweepEnded Point = "sweep-ended"
	// SweepPosted: the ledger has the posting of a sweep; the records do not say so yet.
	SweepPosted Point = "sweep-posted"

	// RecordsWritten: an update of the rail's records is written; it is not committed yet.
	RecordsWritten Point = "records-written"
	// RecordsCommitted: it is on stable storage; the caller does not know yet.
	RecordsCommitted Point = "records-committed"
)

// ChainPoints returns the points of the chain rail. A drill on a chain must reach them.
func ChainPoints() []Point {
	return []Point{
		GrantProposed, GrantSigned, ConnectBegun, GrantStored, GrantSent, GrantLanded, ConnectDecided, MandateUnbound,
		TransferSigned, TransferStored, TransferSent, TransferLanded, TransferDecided, TransferRefused,
		NonceTaken, NonceLost, Forgotten, Reopened, Buried, ReplacementSigned, ReplacementStored, ReplacementSent,
		RevokeRecorded, KeyDestroyed, InstrumentBegun, InstrumentEnded, UnwindingTaken, UnwindingEnded, RevokeStored, RevokeSent,
		WatcherSaw, WatcherDestroyed, WatcherReported, WatcherMoved, WatcherRewound,
		AuthorizationChecked, AuthorizationStored, AuthorizationSent, AuthorizationLanded, AuthorizationDecided, AuthorizationAnswered,
		RecordsWritten, RecordsCommitted,
	}
}

// ChainRefundPoints returns the points of refunds on a chain, beside RefundPoints and those of
// signed transfers.
func ChainRefundPoints() []Point { return []Point{RefundProposed, RefundConcluded} }

// SellerPoints returns the points of purchases from sellers outside of the service.
func SellerPoints() []Point {
	return []Point{PurchaseOpened, PurchaseFunded, PurchaseSigned, PurchaseEnded, SweepOpened, SweepEnded, SweepPosted}
}
