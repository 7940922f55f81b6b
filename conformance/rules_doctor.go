package conformance

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/internal/ssrf"
)

// reachRules are about the way to the endpoint.
func reachRules() []Rule {
	return []Rule{
		{
			ID: "doctor.dns", Title: "The name has public addresses alone", Source: "RFC 1034; directories, which refuse private networks",
			Remedy: "Publish A and AAAA records with public addresses, and remove the others.",
			check:  checkDNS,
		},
		{
			ID: "doctor.tls", Title: "The certificate is valid for two weeks", Source: "RFC 8446; RFC 9525",
			Remedy: "Renew the certificate, and serve it with its intermediates for this name.",
			check:  checkCertificate,
		},
		{
			ID: "doctor.reach", Title: "The endpoint answers", Source: "RFC 9110",
			Remedy: "Start the server, and let the firewall pass its port.",
			check:  checkReach,
		},
	}
}

func listedRule() Rule {
	return Rule{
		ID: "doctor.listed", Title: "A directory lists the endpoint", Source: "x402 v2 §8",
		Remedy: "Pay the endpoint once by x402 v2 through the directory's facilitator, with the extension bazaar declared, and wait ten minutes.",
		check:  checkDirectories,
	}
}

func checkDNS(ctx context.Context, p *probe) verdict {
	name := p.target.Hostname()
	if loopback.Name(name) {
		return warn("%s is this machine: directories cannot reach it", name)
	}
	addresses := []netip.Addr{}
	if address, err := netip.ParseAddr(name); err == nil {
		addresses = append(addresses, address)
	} else {
		ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
		defer cancel()
		if addresses, err = p.resolver.LookupNetIP(ctx, "ip", name); err != nil {
			return fail("%v", err)
		}
	}
	for _, a := range addresses {
		if !ssrf.Public(a) {
			return fail("%s is not a public address", a)
		}
	}
	return pass("%d addresses", len(addresses))
}

func checkCertificate(ctx context.Context, p *probe) verdict {
	if p.target.Scheme != "https" {
		if loopback.Name(p.target.Hostname()) {
			return skip("plain http is fine on the loopback interface")
		}
		return fail("the address begins with http://")
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	port := p.target.Port()
	if port == "" {
		port = "443"
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Resolver: p.resolver}, Config: &tls.Config{MinVersion: tls.VersionTLS12}}
	if t, ok := p.client.Transport.(*http.Transport); ok && t.TLSClientConfig != nil {
		dialer.Config = t.TLSClientConfig.Clone()
		dialer.Config.NextProtos = nil
	}
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(p.target.Hostname(), port))
	if err != nil {
		return fail("%v", err)
	}
	defer func() { _ = connection.Close() }()
	secured, ok := connection.(*tls.Conn)
	if !ok || len(secured.ConnectionState().PeerCertificates) == 0 {
		return fail("the server sent no certificate")
	}
	left := secured.ConnectionState().PeerCertificates[0].NotAfter.Sub(p.cfg.Clock())
	days := int(left / (24 * time.Hour))
	if days < 14 {
		return warn("the certificate ends in %d days", days)
	}
	return pass("the certificate ends in %d days", days)
}

func checkReach(ctx context.Context, p *probe) verdict {
	if err := p.plain(ctx).err; err != nil {
		return fail("%v", err)
	}
	return pass("answered %s", outcome(p.plain(ctx)))
}

// Limits on what is read of a directory.
const (
	directoryPages = 20
	directoryPage  = 100
)

func checkDirectories(ctx context.Context, p *probe) verdict {
	if len(p.directories) == 0 {
		return skip("no directory was named")
	}
	var problems []string
	for _, d := range p.directories {
		listed, problem := p.listed(ctx, d)
		if listed {
			return pass("listed by %s", quote(d))
		}
		problems = append(problems, quote(d)+" "+problem)
	}
	return fail("%s", strings.Join(problems, "; "))
}

// listed reports whether a directory lists the endpoint, or why that is not known.
func (p *probe) listed(ctx context.Context, directory string) (bool, string) {
	for page := range directoryPages {
		query := url.Values{"type": {"http"}, "limit": {strconv.Itoa(directoryPage)}, "offset": {strconv.Itoa(page * directoryPage)}}
		address := strings.TrimSuffix(directory, "/") + "/discovery/resources?" + query.Encode()
		e := p.send(ctx, http.MethodGet, address, nil, p.cfg.Timeout)
		if e.err != nil || e.status != http.StatusOK {
			return false, "answered " + outcome(e)
		}
		o, err := object(e.body)
		if err != nil {
			return false, "does not answer with a JSON object"
		}
		items, _ := o["items"].([]any)
		for _, item := range items {
			entry, _ := item.(map[string]any)
			resource, _ := entry["resource"].(map[string]any)
			if p.isTarget(str(entry["resource"])) || p.isTarget(str(resource["url"])) {
				return true, ""
			}
		}
		if len(items) < directoryPage {
			return false, "does not list it"
		}
	}
	return false, "does not list it among the first " + strconv.Itoa(directoryPages*directoryPage)
}

// isTarget reports whether an entry's address is that of the endpoint. Entries may have a
// template for the path: /reports/{id}.
func (p *probe) isTarget(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.EqualFold(u.Host, p.target.Host) && (u.Path == p.target.Path || fits(u.Path, p.target.Path))
}
