// Package mandate parses, verifies and issues mandates: tokens with which a person allows
// an agent to spend within limits. A mandate is an SD-JWT VC (RFC 9901) signed with
// ES256, a profile of AP2's open payment mandate; its text begins with dtok_.
//
// Verify a mandate offline:
//
//	v := mandate.Verifier{Issuer: "https://pay.example", Keys: mandate.RemoteKeys("https://pay.example/.well-known/jwks.json")}
//	m, err := v.Verify(ctx, token)
//	err = m.Precheck(mandate.Payment{AmountMicros: 10_000, Payee: "mer_…", Rail: mandate.ChainRail}, time.Now())
//
// An offline check knows what was signed. It does not know what was spent this month,
// and it knows a revocation only if [Verifier.Statuses] is set, and only within the
// list's ttl. Only the service that issued the mandate can charge it.
//
// # Identity
//
// [Mandate.ID] identifies a mandate. Its text does not: signatures with high s are
// valid, disclosures may be left out, and key bindings differ. Key counters and
// revocations by the id, never by the text or its hash.
//
// # Presentations without their binding
//
// A presentation is a mandate followed by a key binding, which anyone who receives it can
// remove. If the token sets key_binding_required ([Terms.RequireBinding]), the rest is
// refused with kb_missing. Other implementations ignore this claim, as they do any
// unknown claim.
//
// # Other operations
//
// [Issuer] issues mandates, [KeySet] holds and publishes the keys that sign them,
// [Present] binds a mandate to one payment with the mandate's session key,
// [Verifier.VerifyPresentation] verifies that binding, and [StatusList] publishes
// revocations.
//
// # What is accepted
//
// Rules are checked in a fixed order, and the first broken one is the [Reason] of the
// [*Error]. Verification is strict: it refuses unknown constraints and limits, hidden
// constraints, keys that come with the token, and JSON with duplicate members. Selective
// disclosure can narrow a mandate (by withholding a payee) but never widen it.
//
// The claim spending_limits has the limits that every mandate has. Optional limits are in
// the claim further_limits, an object with at least one of max_daily_cents, max_total_cents,
// max_payments_per_day and max_monthly_per_payee_cents. The optional claim round_up_rest, which
// is true if it is there, is [Limits.RoundUpRest].
//
// AP2's own form is accepted as well: if the payload has no vct of its own, and
// delegate_payload is an array of which exactly one object is disclosed, the mandate's
// claims (vct, cnf, constraints, spending_limits, further_limits, round_up_rest) are that object's. The
// other claims (iss, jti, iat, exp, nbf, status) may be in the object or around it, but
// each only in one of them. All limits and rules are the same; in particular spending_limits is
// required, since AP2's budget alone has no period. If there is a vct, delegate_payload
// is an unknown claim without meaning.
//
// Addresses in a mandate (iss, status.uri) must be https. They may be http addresses of
// the loopback interface only if the configured issuer is one too, for development.
//
// The package depends only on the standard library and starts no goroutine.
package mandate
