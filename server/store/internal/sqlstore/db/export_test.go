package db

// Reads are the statements whose cost must not grow with the ledger, by name.
var Reads = map[string]string{
	"selected charges": selectedCharges, "selected charges of a merchant": selectedChargesOf,
	"session": session, "mandate": mandate, "charge": charge, "list": charges, "lapsed": Lapsed, "totals": totals,
	"active mandates": activeMandates, "key": idempotency, "tally": tally, "merchant": merchant,
	"merchant by wallet": merchantByWallet, "API keys": aPIKeysOf, "API keys by hash": aPIKeysBetween, "audit log": auditOf, "sealed keys": sealedKeys, "postings": postingsOf,
	"events": eventsOf, "expire keys": expireIdempotency, "expire events": expireEvents, "expire deliveries": expireDeliveries, "expire sessions": expireSessions,
	"forget tokens": forgetTokens,
	"stream":        streamEvents, "due lanes": dueLanes, "retry lanes": retryLanes, "lane": laneDeliveries, "next retry": nextRetry, "merchant's events": merchantEvents,
	"due endpoints": dueEndpoints, "webhook news": webhookNews, "deliveries of an event": eventDeliveries,
	"seals of keys": keySeals, "seals of tokens": tokenSeals,
}
