// Package rapidtest sets how many random sequences the expensive model tests run
// with the race detector, under which each takes ten times as long. Import it for its
// effect in a test of a model:
//
//	import _ "github.com/paywarrant/paywarrant/internal/rapidtest"
//
// Without the detector the library's own default holds, and the flag -rapid.checks
// rules in either case. make test runs those packages both ways.
package rapidtest
