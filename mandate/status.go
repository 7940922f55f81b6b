package mandate

import "context"

// StatusSource tells whether a mandate was revoked. RemoteStatuses is there;
// implementations must be safe for concurrent use.
type StatusSource interface {
	// Revoked tells the status at the reference. Errors: any error says that
	// it cannot be known now, and the mandate is then refused.
	Revoked(ctx context.Context, ref StatusRef) (bool, error)
}
