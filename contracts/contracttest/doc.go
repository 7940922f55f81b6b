// Package contracttest binds contracts that exist for tests alone: a token that
// re-enters, one that says yes and moves nothing, a wallet that is a contract.
package contracttest
