// Package events delivers each merchant's events to its webhook endpoints. It is the API's
// side of webhooks: endpoints and their secrets, lists of events, redelivery. Package
// delivery, below it, delivers; package sender sends one request.
//
//	s, err := events.New(events.Config{Store: store, Vault: box, Clock: clock, Logger: log})
//	s.Start(ctx)
//	defer s.Close()
//
// # How events are delivered
//
// The ledger numbers a merchant's events without a gap: they are the merchant's stream, and
// a number is an offset in it. Each endpoint has an offset: up to there, every event was
// delivered, or has a stored delivery. One instance at a time has an endpoint on lease, and
// runs a worker for it:
//
//   - The worker reads the stream from the offset on, up to a window of events. It puts each
//     event into the lane of its mandate, and sends the first of each lane, several lanes at
//     once. When an event is delivered, the next one of its lane follows.
//   - The offset moves past the delivered events at the front of the window. It is saved
//     ten times a second, for all endpoints together. A delivery that succeeds at the
//     first attempt writes nothing else.
//   - If an event fails, the worker stores its delivery and those that wait behind it in its
//     lane. Then the offset may pass them. While a lane has pending stored deliveries, the
//     later events of its mandate are stored as well.
//   - When a retry is due, the worker loads the lane from the store, sends its deliveries in
//     order, and stores each outcome.
//
// Three rules hold throughout:
//
//   - A delivery is stored before the offset passes its event, and not before those that
//     precede it in its lane. So a mandate's events keep their order.
//   - The worker waits until a delivery is stored, and ends if the store fails. The next
//     holder of the lease starts from what is stored, and delivers again what was delivered
//     after the saved offset.
//   - Only the holder of the lease saves deliveries and offsets. An instance that stalled
//     beyond its lease saves nothing, and its worker ends.
//
// Nothing here is part of a charge. A worker reads events that are committed, and slow
// or failing endpoints delay no other endpoint: each has its own worker and connections.
package events
