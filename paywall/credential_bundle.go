package paywall

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxBundleToken is the longest bundle token that is accepted, in bytes.
const maxBundleToken = 8 << 10

// redactText returns the text of an error without a secret.
func redactText(err error, secret string) string {
	return strings.ReplaceAll(err.Error(), secret, "[redacted]")
}

// planBundle plans the payment of X-Bundle-Token. The merchant decides what a token is worth.
// There is no claim, because each use of the token takes a credit.
func (v *visit) planBundle() (*purchase, error) {
	if v.bundle == nil {
		return nil, refuse("bundle_unsupported", "Bundles are not sold here.")
	}
	token := v.found.value
	if len(token) > maxBundleToken || !plainText(token) {
		return nil, refuse("invalid_bundle_token", "The bundle token is malformed.")
	}
	return &purchase{
		settle: func(ctx context.Context, _ ClaimState) (settled, error) {
			result, err := v.bundle.ValidateAndDeduct(ctx, token)
			if err != nil {
				return settled{}, &refusal{
					status: http.StatusServiceUnavailable, code: codeUnavailable, wait: time.Second, cause: errors.New("ValidateAndDeduct: " + redactText(err, token)),
					message: "The bundle cannot be checked now. Send it again.",
				}
			}
			if !result.Valid {
				return settled{}, refuse(codeNoCredits, "The bundle has no credit left, or is not valid.")
			}
			return settled{payment: Payment{
				Credential: CredentialBundle, Scheme: "bundle", TenantID: result.TenantID, CreditsRemaining: result.CreditsRemaining,
			}}, nil
		},
		announce: func(h http.Header, p Payment) {
			h.Set(HeaderCreditsRemaining, strconv.FormatInt(p.CreditsRemaining, 10))
		},
		ended: func(ctx context.Context, end End) {
			if end != EndUnserved || v.bundle.Refund == nil {
				return
			}
			if err := v.bundle.Refund(ctx, token); err != nil {
				v.logger.ErrorContext(ctx, "paywall: refund credit", slog.String("request_id", v.id), slog.String("error", redactText(err, token)))
			}
		},
	}, nil
}
