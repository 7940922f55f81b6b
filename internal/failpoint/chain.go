package failpoint

// The points of the chain rail: of a grant, of a charge on the chain, of any
// transaction of the relayer, of a revocation, of a signed transfer, and of the
// rail's records.
const (
	// GrantProposed: a session key is sealed in the records, and nobody was asked to sign.
	GrantProposed Point = "grant-proposed"
	// GrantSigned: the wallet's signatures are kept, and nothing is connected with them.
	GrantSigned Point = "grant-signed"
	// ConnectBegun: a connection has its grant, and nothing was relayed.
	ConnectBegun Point = "connect-begun"
	// GrantStored: the grant's transaction is in the records, and nobody was sent it.
	GrantStored Point = "grant-stored"
	// GrantSent: the node was given it, and nobody waits.
	GrantSent Point = "grant-sent"
	// GrantLanded: it is in a block, and the connection is not decided.
	GrantLanded Point = "grant-landed"
	// ConnectDecided: the connection is decided, and there is no mandate of it.
	ConnectDecided Point = "connect-decided"
	// MandateUnbound: there is the mandate, and its grant does not know it.
	MandateUnbound Point = "mandate-unbound"

	// TransferSigned: the session key has signed a charge of which there is no record.
	TransferSigned Point = "transfer-signed"
	// TransferStored: a charge and its transaction are in the records, and nobody was sent it.
	TransferStored Point = "transfer-stored"
	// TransferSent: the node was given it, and nobody waits.
	TransferSent Point = "transfer-sent"
	// TransferLanded: it is in a block for good, and the records do not say so.
	TransferLanded Point = "transfer-landed"
	// TransferDecided: the records say how it ended, and the ledger does not.
	TransferDecided Point = "transfer-decided"
	// TransferRefused: the records say that nothing was broadcast, and the ledger does not.
	TransferRefused Point = "transfer-refused"

	// NonceTaken: a transaction is signed with the next nonce, and neither is kept.
	NonceTaken Point = "nonce-taken"
	// NonceLost: somebody else has used a nonce, and its work has no other one yet.
	NonceLost Point = "nonce-lost"
	// Forgotten: the node does not know a transaction, which is about to be sent again.
	Forgotten Point = "transaction-forgotten"
	// Reopened: a transaction that was final is looked after again, and not sent.
	Reopened Point = "transaction-reopened"
	// Buried: a transaction lies so deep that nobody looks after it any more.
	Buried Point = "transaction-buried"
	// ReplacementSigned: a transaction with higher fees is signed, and not kept.
	ReplacementSigned Point = "replacement-signed"
	// ReplacementStored: it is in the records, and nobody was sent it.
	ReplacementStored Point = "replacement-stored"
	// ReplacementSent: the node was given it.
	ReplacementSent Point = "replacement-sent"

	// RevokeRecorded: the ledger says that a mandate is revoked, and no rail knows.
	RevokeRecorded Point = "revoke-recorded"
	// KeyDestroyed: its session key is destroyed, and the grant still on the chain.
	KeyDestroyed Point = "revoke-key-destroyed"
	// InstrumentBegun: an instrument has a row, and no rail was asked to connect it.
	InstrumentBegun Point = "instrument-begun"
	// InstrumentEnded: a rail has ended an instrument, and the ledger does not know.
	InstrumentEnded Point = "instrument-ended"
	// UnwindingTaken: an unwinding is leased, and nothing of it was done.
	UnwindingTaken Point = "unwinding-taken"
	// UnwindingEnded: an unwinding is over.
	UnwindingEnded Point = "unwinding-ended"
	// RevokeStored: the revocation's transaction is in the records, and nobody was sent it.
	RevokeStored Point = "revoke-stored"
	// RevokeSent: the node was given it.
	RevokeSent Point = "revoke-sent"

	// WatcherSaw: the watcher has read a revocation from the chain, and kept nothing.
	WatcherSaw Point = "watcher-saw"
	// WatcherDestroyed: it has destroyed the session key, and told nobody.
	WatcherDestroyed Point = "watcher-key-destroyed"
	// WatcherTold: the ledger knows, and the watcher has not moved on.
	WatcherTold Point = "watcher-told"
	// WatcherMoved: the watcher has moved on.
	WatcherMoved Point = "watcher-moved"
	// WatcherRewound: the watcher's last block is gone, and it is about to go back.
	WatcherRewound Point = "watcher-rewound"

	// AuthorizationChecked: a signed transfer is good, and there is no record of it.
	AuthorizationChecked Point = "authorization-checked"
	// AuthorizationStored: it and its transaction are in the records, and nobody was sent it.
	AuthorizationStored Point = "authorization-stored"
	// AuthorizationSent: the node was given it, and nobody waits.
	AuthorizationSent Point = "authorization-sent"
	// AuthorizationLanded: it is in a block for good, and the records do not say so.
	AuthorizationLanded Point = "authorization-landed"
	// AuthorizationDecided: the records say how it ended, and nobody was told.
	AuthorizationDecided Point = "authorization-decided"
	// AuthorizationTold: the records say that somebody was told, and nobody was.
	AuthorizationTold Point = "authorization-told"

	// RecordsWritten: an update of the rail's records is written, and not committed.
	RecordsWritten Point = "records-written"
	// RecordsCommitted: it is on stable storage, and nobody knows.
	RecordsCommitted Point = "records-committed"
)

// ChainPoints are those of the chain rail; the drill on a chain owes them.
func ChainPoints() []Point {
	return []Point{
		GrantProposed, GrantSigned, ConnectBegun, GrantStored, GrantSent, GrantLanded, ConnectDecided, MandateUnbound,
		TransferSigned, TransferStored, TransferSent, TransferLanded, TransferDecided, TransferRefused,
		NonceTaken, NonceLost, Forgotten, Reopened, Buried, ReplacementSigned, ReplacementStored, ReplacementSent,
		RevokeRecorded, KeyDestroyed, InstrumentBegun, InstrumentEnded, UnwindingTaken, UnwindingEnded, RevokeStored, RevokeSent,
		WatcherSaw, WatcherDestroyed, WatcherTold, WatcherMoved, WatcherRewound,
		AuthorizationChecked, AuthorizationStored, AuthorizationSent, AuthorizationLanded, AuthorizationDecided, AuthorizationTold,
		RecordsWritten, RecordsCommitted,
	}
}
