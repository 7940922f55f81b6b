package conformance

import (
	"context"
	"fmt"
	"mime"
	"net/url"
	"strconv"
	"strings"

	"github.com/paywarrant/paywarrant/x402"
)

// x402Rules returns the rules of one version of x402.
func x402Rules(version string) []Rule {
	id, source, where := "x402v2.", "x402 v2 §5.1", "PAYMENT-REQUIRED"
	if version == version1 {
		id, source, where = "x402v1.", "x402 v1 §5.1", "the body"
	}
	amount := amountField(version)
	rules := []Rule{
		{
			ID: id + "challenge", Title: "The challenge of " + version + " can be read", Source: source,
			Remedy: "Send " + where + " as the specification has it: x402Version as a number, and a list accepts with at least one entry.",
			check:  func(ctx context.Context, p *probe) verdict { return checkX402(ctx, p, version) },
		},
		{
			ID: id + "resource", Title: "The challenge names the address that was asked", Source: source,
			Remedy: "Set the resource's URL to the full public URL of the request, also behind a proxy.",
			check:  func(ctx context.Context, p *probe) verdict { return checkResource(ctx, p, version) },
		},
		{
			ID: id + "scheme", Title: "Each entry has the scheme exact or upto", Source: source + ".2",
			Remedy: "Offer the scheme exact, which every client knows.",
			check:  each(version, checkScheme),
		},
		{
			ID: id + "network", Title: "Each entry names its network in the form of the version", Source: source + ".2",
			Remedy: "Name networks by CAIP-2 (eip155:8453) in version 2, and by name (base) in version 1.",
			check:  each(version, checkNetwork),
		},
		{
			ID: id + "amount", Title: "Each price is a string of digits above zero", Source: source + ".2",
			Remedy: "Write " + amount + " in base units of the token, as a string without sign, decimals or leading zeros.",
			check:  each(version, checkAmount),
		},
		{
			ID: id + "asset", Title: "Each token is an address", Source: source + ".2; EIP-55",
			Remedy: "Set asset to the contract of the token on that network, with a correct checksum.",
			check:  each(version, func(o offer) string { return checkAddress(o, "asset", o.asset) }),
		},
		{
			ID: id + "payto", Title: "Each payee is an address", Source: source + ".2; EIP-55",
			Remedy: "Set payTo to your wallet, with a correct checksum.",
			check:  each(version, func(o offer) string { return checkAddress(o, "payTo", o.payTo) }),
		},
		{
			ID: id + "timeout", Title: "Each entry can be paid for 10 seconds to an hour", Source: source + ".2",
			Remedy: "Set maxTimeoutSeconds to a number such as 60.",
			check:  each(version, checkTimeout),
		},
		{
			ID: id + "domain", Title: "extra has the name and version of the token's EIP-712 domain", Source: "x402, scheme exact on EVM; EIP-712",
			Remedy: `Take name and version from the token's contract: a wrong one makes every signature fail ("USD Coin" on Base, "USDC" on Base Sepolia).`,
			check:  each(version, checkDomain),
		},
	}
	if version == version2 {
		rules = append(rules, Rule{
			ID: id + "flow", Title: "extra.paymentFlow is one that clients know", Source: "x402 v2, payment flows",
			Remedy: "Use upfront, authorization or escrow, or leave paymentFlow out.",
			check:  each(version, checkFlow),
		}, Rule{
			ID: id + "identifier", Title: "payment-identifier says whether it is required", Source: "x402 v2, extension payment-identifier",
			Remedy: "Set info.required of the extension to a boolean, or clients add no identifier.",
			check:  checkIdentifier,
		})
	}
	return rules
}

// each returns the check of every offer of a protocol. problem returns what is wrong with
// one, or nothing.
func each(protocol string, problem func(offer) string) func(context.Context, *probe) verdict {
	return func(ctx context.Context, p *probe) verdict {
		c, no := p.asked(ctx)
		if c == nil {
			return no
		}
		offers := c.of(protocol)
		if len(offers) == 0 {
			return skip("no offer of %s", protocol)
		}
		for _, o := range offers {
			if found := problem(o); found != "" {
				return fail("%s: %s", o.at, found)
			}
		}
		return pass("")
	}
}

func checkX402(ctx context.Context, p *probe, version string) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	if !c.has[version] {
		return skip("not offered")
	}
	if err := c.broken[version]; err != nil {
		return fail("%v", err)
	}
	body, want := c.two, "2"
	if version == version1 {
		body, want = c.one, "1"
		if kind, _, _ := mime.ParseMediaType(p.plain(ctx).header.Get("Content-Type")); kind != "application/json" {
			return fail("Content-Type is %s", quote(kind))
		}
	}
	if got := number(body["x402Version"]); got != want {
		return fail("x402Version is not the number %s", want)
	}
	entries, _ := body["accepts"].([]any)
	if len(entries) == 0 || len(entries) != len(c.of(version)) {
		return fail("accepts is not a list of one or more objects")
	}
	return pass("%d accepted payments", len(entries))
}

func checkResource(ctx context.Context, p *probe, version string) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	var named []string
	if version == version2 && c.two != nil {
		resource, _ := c.two["resource"].(map[string]any)
		named = []string{str(resource["url"])}
	}
	for _, o := range c.of(version1) {
		if version == version1 {
			named = append(named, str(o.raw["resource"]))
		}
	}
	if len(named) == 0 {
		return skip("no offer of %s", version)
	}
	for _, address := range named {
		u, err := url.Parse(address)
		switch {
		case err != nil || u.Host == "":
			return fail("%s is not an absolute URL", quote(address))
		case u.Path != p.target.Path && u.Path+"/" != p.target.Path && u.Path != p.target.Path+"/":
			return fail("%s has another path", quote(address))
		case !strings.EqualFold(u.Hostname(), p.target.Hostname()):
			return warn("%s has another host", quote(address))
		case u.Scheme != p.target.Scheme:
			return warn("%s has another scheme", quote(address))
		}
	}
	return pass("")
}

func checkScheme(o offer) string {
	switch scheme := str(o.raw["scheme"]); {
	case scheme == x402.SchemeExact, scheme == x402.SchemeUpto && o.protocol == version2:
		return ""
	default:
		return "scheme is " + quote(scheme)
	}
}

func checkNetwork(o offer) string {
	kind, id, caip := strings.Cut(o.network, ":")
	if o.protocol == version2 && (!caip || kind == "" || id == "" || (kind == "eip155" && o.chainID == 0)) {
		return "network is " + quote(o.network)
	}
	if o.protocol == version1 && (o.network == "" || (o.chainID != 0 && o.network != x402.NetworkOf(o.chainID).V1)) {
		return "network is " + quote(o.network)
	}
	return ""
}

func checkAmount(o offer) string {
	if o.raw == nil {
		return "" // the rule of the request reports it
	}
	name := amountField(o.protocol)
	switch v := o.raw[name]; {
	case v == nil:
		return name + " is missing"
	case o.amount == "":
		return name + " is not a string"
	case !x402.IsAmount(o.amount) || o.amount == "0":
		return name + " is " + quote(o.amount)
	}
	return ""
}

// checkAddress judges an address of a network whose addresses are known.
func checkAddress(o offer, name, value string) string {
	if value == "" {
		return name + " is missing"
	}
	if o.chainID == 0 {
		return ""
	}
	address, err := x402.ParseAddress(value)
	switch {
	case err != nil:
		return name + ": " + err.Error()
	case strings.Trim(address, "0x") == "":
		return name + " is the zero address"
	}
	return ""
}

func checkTimeout(o offer) string {
	n, err := strconv.ParseInt(number(o.raw["maxTimeoutSeconds"]), 10, 64)
	if err != nil || n < 10 || n > 3600 {
		return fmt.Sprintf("maxTimeoutSeconds is %s", quote(fmt.Sprint(o.raw["maxTimeoutSeconds"])))
	}
	return ""
}

func checkDomain(o offer) string {
	if o.chainID == 0 || str(o.raw["scheme"]) != x402.SchemeExact {
		return ""
	}
	extra, _ := o.raw["extra"].(map[string]any)
	name, version := str(extra[x402.ExtraName]), str(extra[x402.ExtraVersion])
	known, ok := x402.USDC(o.chainID)
	switch {
	case name == "" || version == "":
		return "extra has no name or no version"
	case ok && x402.SameAddress(known.Address, o.asset) && (known.Name != name || known.Version != version):
		return fmt.Sprintf("extra is %s, version %s; the contract's is %q, version %q", quote(name), quote(version), known.Name, known.Version)
	}
	return ""
}

func checkFlow(o offer) string {
	extra, _ := o.raw["extra"].(map[string]any)
	switch flow := extra[x402.ExtraPaymentFlow]; flow {
	case nil, x402.FlowUpfront, "authorization", "escrow":
		return ""
	default:
		return "paymentFlow is " + quote(fmt.Sprint(flow))
	}
}

func checkIdentifier(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	extensions, _ := c.two["extensions"].(map[string]any)
	e, ok := extensions[x402.ExtensionIdentifier].(map[string]any)
	if !ok {
		return skip("not offered")
	}
	info, _ := e["info"].(map[string]any)
	if _, ok := info["required"].(bool); !ok {
		return fail("info.required is not a boolean")
	}
	return pass("")
}
