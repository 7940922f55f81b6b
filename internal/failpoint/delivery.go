package failpoint

// The points of a delivery.
const (
	// EndpointTaken: an endpoint is leased, and nothing of its stream was read.
	EndpointTaken Point = "endpoint-taken"
	// Sending: a delivery is about to be made.
	Sending Point = "delivery-sending"
	// Sent: the receiver has answered, and nobody knows.
	Sent Point = "delivery-sent"
	// DeliveriesSaving: how far endpoints have come is about to be saved.
	DeliveriesSaving Point = "deliveries-saving"
	// DeliveriesSaved: it is saved, and nobody knows.
	DeliveriesSaved Point = "deliveries-saved"
)

// DeliveryPoints are those of a delivery; a drill that delivers owes them.
func DeliveryPoints() []Point {
	return []Point{EndpointTaken, Sending, Sent, DeliveriesSaving, DeliveriesSaved}
}
