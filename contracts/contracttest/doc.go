// Package contracttest has bindings of contracts for tests: a dollar that behaves like
// the deployed USDC, a token that re-enters, one that reports success and moves nothing,
// and a wallet that is a contract.
package contracttest
