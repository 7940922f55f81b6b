// Package contracttest binds contracts that exist for tests alone: a dollar that
// behaves like the deployed USDC, a token that re-enters, one that reports success
// and moves nothing, a wallet that is a contract.
package contracttest
