// Package webhook holds the events that Paywarrant tells a merchant of: their
// types and the data of each.
//
// It depends on the standard library alone.
package webhook
