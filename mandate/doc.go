// Package mandate reads, checks and makes intent mandates: tokens by which a
// person allows an agent to spend, within limits. A mandate is an SD-JWT VC
// (RFC 9901) signed with ES256, a profile of AP2's open payment mandate; its
// text begins with dtok_.
//
// Check one offline:
//
//	v := mandate.Verifier{Issuer: "https://pay.example", Keys: mandate.RemoteKeys("https://pay.example/.well-known/jwks.json")}
//	m, err := v.Verify(ctx, token)
//	err = m.Precheck(mandate.Payment{AmountMicros: 10_000, Payee: "mer_…", Rail: mandate.ChainRail}, time.Now())
//
// An offline check knows what was signed. It cannot know what was spent this
// month, and it knows a revocation only where [Verifier.Statuses] is set, and
// then within the list's ttl. Only the service that issued the mandate can
// settle against it.
//
// # Identity
//
// A mandate is its [Mandate.ID]. The text is no identity: signatures with high
// s are valid, disclosures may be left out, key bindings differ. Key counters
// and revocations on the id, never on the text or its hash.
//
// # What a presentation leaves behind
//
// A presentation is a mandate and a key binding after it, which anybody can cut
// off. Where the token says key_binding_required ([Terms.RequireBinding]), what is
// left is refused with kb_missing. Other verifiers ignore the claim, as unknown ones.
//
// # Other directions
//
// [Issuer] makes mandates, [KeySet] keeps and publishes the keys they are
// signed with, [Present] binds a mandate to one payment with the mandate's
// session key, [Verifier.VerifyPresentation] checks that binding, and
// [StatusList] publishes revocations.
//
// # What is accepted
//
// Every rule is checked in a fixed order and the first broken one gives the
// [Reason] of the [*Error]. Whatever can be refused is refused: unknown
// constraints and limits, hidden constraints, keys that come with the token,
// JSON with two members of one name. Selective disclosure can narrow a mandate
// (a payee withheld) and never widen it.
//
// AP2's own form is read as well: where the payload has no vct of its own and
// delegate_payload is an array of which exactly one object is disclosed, the
// mandate's claims (vct, cnf, constraints, spending_limits) are that object's,
// and the rest (iss, jti, iat, exp, nbf, status) may stand in it or around it,
// each in one place only. All limits and rules are the same; in particular
// spending_limits is required, since AP2's budget alone has no period. Beside a
// vct, delegate_payload is an unknown claim and has no meaning.
//
// Addresses in a mandate (iss, status.uri) are https. Only where the configured
// issuer is itself an http address of the loopback interface, for development,
// may they be http addresses of the loopback interface too.
//
// The package compiles in nothing outside the standard library and starts no
// goroutine.
package mandate
