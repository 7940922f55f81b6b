// Package conformance judges paywalls on the network, ours or others: the challenge of a
// 402 in x402 versions 1 and 2 and in the Payment scheme (MPP), caching, CORS, refusals,
// discovery, and, with a wallet and a budget, payments, replays and concurrency.
//
//	report, err := conformance.Validate(ctx, conformance.Config{URL: "https://api.example.com/weather"})
//	for _, r := range report.Results {
//		fmt.Println(r.Status, r.ID, r.Detail, r.Remedy)
//	}
//
// Without a wallet it moves no money: it sends requests without payment, malformed
// credentials, and payments of a random wallet that owns nothing. The rules that need a
// payment are then skipped, and the report lists them.
//
// [Facilitator] judges a facilitator of x402 by eight rules, on a test chain. [Doctor] finds
// out why directories do not list an endpoint.
//
// Each rule has an id, the source that demands it, and a remedy in one sentence; [Rules]
// returns all of them. The rules are in the files rules_*.go by topic. A new rule is an entry
// in the list of its file.
//
// Only the host of the URL is asked. Redirects are judged and never followed. Everything that
// is read is bounded in size and time. Texts of the server are quoted and cut in [Result], so
// that a terminal can show them.
package conformance
