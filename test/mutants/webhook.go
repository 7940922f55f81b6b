package main

var webhookMutants = []mutant{
	{"webhook/verifier.go", "any signature is taken", "if !ok || !s.matches(all, body) {", "if !ok || len(all) == 0 {", "./webhook"},
	{"webhook/verifier.go", "old deliveries are taken", "now().Sub(at).Abs() <= tolerance", "-now().Sub(at) <= tolerance", "./webhook"},
	{"webhook/verifier.go", "deliveries from the future are taken", "now().Sub(at).Abs() <= tolerance", "now().Sub(at) <= tolerance", "./webhook"},
	{"webhook/verifier.go", "the time is not signed", `[]byte(s.seconds+"."), body)`, "nil, body)", "./webhook"},
	{"webhook/verifier.go", "large bodies are read", "if len(body) > MaxBody {", "if false {", "./webhook"},
	{"webhook/verifier.go", "two signature headers are taken", "len(values) != 1 ||", "len(values) < 1 ||", "./webhook"},
	{"webhook/verifier.go", "a time may stand twice", `err != nil || s.seconds != ""`, "err != nil", "./webhook"},
	{"webhook/handler.go", "an event that failed is acknowledged", "err := h.once(r.Context(), e)\n\tif err != nil {", "err := h.once(r.Context(), e)\n\tif false {", "./webhook"},
	{"internal/ssrf/ssrf.go", "loopback may be dialed", `"127.0.0.0/8", `, "", "./internal/ssrf"},
	{"internal/ssrf/ssrf.go", "link-local may be dialed", `"169.254.0.0/16", `, "", "./internal/ssrf"},
	{"internal/ssrf/ssrf.go", "IPv4 inside IPv6 may be dialed", `"64:ff9b::/96", `, "", "./internal/ssrf"},
	{"internal/ssrf/ssrf.go", "mapped addresses may be dialed", `a = a.Unmap().WithZone("")`, `a = a.WithZone("")`, "./internal/ssrf"},
	{"internal/ssrf/ssrf.go", "every address may be dialed", "if !may(to.Addr()) {", "if false {", "./internal/ssrf"},
}
