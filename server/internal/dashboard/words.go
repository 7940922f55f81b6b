package dashboard

import (
	"strings"

	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
)

// fact is a line of a page. Value is a text, a time, an amount or a [site.Link].
type fact struct {
	Name  string
	Value any
}

// chargeBadge returns the state of a charge.
func chargeBadge(c ledger.Charge) site.Badge {
	switch c.Status {
	case ledger.ChargeSucceeded:
		switch {
		case c.GivenBack():
			return site.Badge{Tone: site.Neutral, Text: "Refunded"}
		case c.Refunded > 0:
			return site.Badge{Tone: site.Good, Text: "Partly refunded"}
		}
		return site.Badge{Tone: site.Good, Text: "Succeeded"}
	case ledger.ChargeFailed:
		return site.Badge{Tone: site.Bad, Text: "Failed"}
	case ledger.ChargeAuthorized:
		return site.Badge{Tone: site.Wait, Text: "Authorized"}
	case ledger.ChargeVoided:
		return site.Badge{Tone: site.Neutral, Text: "Voided"}
	case ledger.ChargeWrittenOff:
		return site.Badge{Tone: site.Good, Text: "Advanced"}
	case ledger.ChargePending:
	}
	return site.Badge{Tone: site.Wait, Text: "Pending"}
}

func refundBadge(r ledger.Refund) site.Badge {
	switch r.Status {
	case ledger.RefundSucceeded:
		return site.Badge{Tone: site.Good, Text: "Succeeded"}
	case ledger.RefundFailed:
		return site.Badge{Tone: site.Bad, Text: "Failed"}
	case ledger.RefundPending:
	}
	return site.Badge{Tone: site.Wait, Text: "Pending"}
}

func deliveryBadge(d store.Delivery) site.Badge {
	switch d.Status {
	case store.DeliveryDelivered:
		return site.Badge{Tone: site.Good, Text: "Delivered"}
	case store.DeliveryFailed:
		return site.Badge{Tone: site.Bad, Text: "Failed"}
	case store.DeliveryPending:
	}
	return site.Badge{Tone: site.Wait, Text: "Pending"}
}

func endpointBadge(e store.WebhookEndpoint) site.Badge {
	switch {
	case e.Disabled != "":
		return site.Badge{Tone: site.Bad, Text: "Disabled"}
	case !e.FailingSince.IsZero():
		return site.Badge{Tone: site.Wait, Text: "Failing"}
	}
	return site.Badge{Tone: site.Good, Text: "Enabled"}
}

// railName names a rail for people.
func railName(n rail.Name) string {
	switch n {
	case rail.Card:
		return "Card"
	case rail.Chain:
		return "Chain"
	}
	return "None yet"
}

// plain writes a constant of the wire with spaces.
func plain(s string) string { return strings.ReplaceAll(s, "_", " ") }

// reason says in words why a charge failed.
func reason(r rail.Reason) string {
	words := plain(string(r))
	if words == "" {
		return "Unknown"
	}
	return strings.ToUpper(words[:1]) + words[1:]
}
