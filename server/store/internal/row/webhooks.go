package row

import (
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
	"github.com/paywarrant/paywarrant/webhook"
)

// At reads a stored time; 0 is the zero time.
func At(ms int64) time.Time { return at(ms) }

// WebhookEndpoint reads a stored row.
func WebhookEndpoint(r db.WebhookEndpoint) (e store.WebhookEndpoint, err error) {
	return store.WebhookEndpoint{
		ID: r.ID, MerchantID: r.MerchantID, URL: r.Url, Types: parsed[[]webhook.Type](r.Types, &err), Disabled: r.Disabled,
		Secret: r.Secret, PreviousSecret: r.Former, PreviousUntil: at(r.FormerUntilMs), FailingSince: at(r.FailingMs),
		Failures: int(r.Failures), PausedUntil: at(r.PauseMs), Version: r.WakeSeq, StartOffset: r.Since, Offset: r.Place, CreatedAt: at(r.CreatedMs),
	}, err
}

// InsertWebhookEndpoint is what a statement of that name takes.
func InsertWebhookEndpoint(e store.WebhookEndpoint, slot int64) db.InsertWebhookEndpointParams {
	types := e.Types
	if types == nil {
		types = []webhook.Type{}
	}
	return db.InsertWebhookEndpointParams{
		ID: e.ID, MerchantID: e.MerchantID, Slot: slot, Url: e.URL, Types: text(types), Secret: e.Secret, Former: []byte{},
		CreatedMs: Millis(e.CreatedAt), Since: e.StartOffset,
	}
}

// Delivery reads a stored row.
func Delivery(r db.WebhookDelivery) (store.Delivery, error) {
	return store.Delivery{
		EndpointID: r.EndpointID, EventID: r.EventID, Lane: r.Lane, Seq: r.Seq, Status: store.DeliveryStatus(r.Status),
		Attempts: int(r.Attempts), Next: at(r.NextMs), HTTPStatus: int(r.HttpStatus), Error: r.Error, Answer: r.Answer,
		TriedAt: at(r.TriedMs), CreatedAt: at(r.CreatedMs),
	}, nil
}

// DueDelivery reads a stored row.
func DueDelivery(r db.LaneDeliveriesRow) (store.DueDelivery, error) {
	return store.DueDelivery{
		Delivery: store.Delivery{
			EventID: r.EventID, Lane: r.Lane, Seq: r.Seq, Status: store.DeliveryPending, Attempts: int(r.Attempts),
			Next: at(r.NextMs), CreatedAt: at(r.CreatedMs),
		},
		Event: ledger.Event{
			ID: r.EventID, MandateID: r.MandateID, Seq: r.Seq, MerchantID: r.MerchantID, Type: webhook.Type(r.Type),
			Data: r.Data, CreatedAt: at(r.EventMs), StreamOffset: r.Place,
		},
	}, nil
}

// SaveDelivery is what a statement of that name takes.
func SaveDelivery(d store.Delivery) db.SaveDeliveryParams {
	return db.SaveDeliveryParams{
		EndpointID: d.EndpointID, EventID: d.EventID, Lane: d.Lane, Seq: d.Seq, Status: string(d.Status), Attempts: int64(d.Attempts),
		NextMs: Millis(d.Next), HttpStatus: int64(d.HTTPStatus), Error: d.Error, Answer: d.Answer, TriedMs: Millis(d.TriedAt),
		CreatedMs: Millis(d.CreatedAt),
	}
}

// SaveEndpoint is what a statement of that name takes.
func SaveEndpoint(owner string, e store.EndpointState) db.SaveEndpointParams {
	return db.SaveEndpointParams{
		ID: e.EndpointID, FailingMs: Millis(e.FailingSince), Failures: int64(e.Failures), PauseMs: Millis(e.PausedUntil), Place: e.Offset, LeaseOwner: owner,
	}
}
