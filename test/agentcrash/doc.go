// Package agentcrash kills an agent while it buys from three gates, at random and between
// the steps of a purchase, and starts it again with the same journal:
//
//	go -C test test ./agentcrash -kills 500
//
// The gates take x402 version 1 and 2 from a wallet, and a mandate. In the end each purchase
// is paid exactly once, the agent knows each payment, and its budget has nothing left.
package agentcrash
