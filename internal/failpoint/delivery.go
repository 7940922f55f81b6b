package failpoint

// The points of a webhook delivery.
const (
	// EndpointTaken: an endpoint is leased; nothing of its stream was read yet.
	EndpointTaken Point = "endpoint-taken"
	// Sending: a delivery is about to be made.
	Sending Point = "delivery-sending"
	// Sent: the receiver has responded; the result is not recorded yet.
	Sent Point = "delivery-sent"
	// DeliveriesSaving: the progress of endpoints is about to be saved.
	DeliveriesSaving Point = "deliveries-saving"
	// DeliveriesSaved: it is saved; the worker does not know yet.
	DeliveriesSaved Point = "deliveries-saved"
)

// DeliveryPoints returns the points of a delivery. A drill that delivers must reach them.
func DeliveryPoints() []Point {
	return []Point{EndpointTaken, Sending, Sent, DeliveriesSaving, DeliveriesSaved}
}
