package mandate_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

func TestErrorsAreMappedOnce(t *testing.T) {
	t.Parallel()
	all := []error{
		mandate.ErrMalformed, mandate.ErrInvalid, mandate.ErrExpired, mandate.ErrRevoked, mandate.ErrPerTxLimit,
		mandate.ErrPayeeNotAllowed, mandate.ErrRailNotAllowed, mandate.ErrBadPayment, mandate.ErrUnavailable,
	}
	for reason, want := range map[mandate.Reason]struct {
		class     error
		status    int
		code, ap2 string
	}{
		mandate.TooLarge:             {mandate.ErrMalformed, 400, "validation_error", "mandate_invalid_signature"},
		mandate.BadFormat:            {mandate.ErrMalformed, 400, "validation_error", "mandate_invalid_signature"},
		mandate.BadBase64URL:         {mandate.ErrMalformed, 400, "validation_error", "mandate_invalid_signature"},
		mandate.BadJSON:              {mandate.ErrMalformed, 400, "validation_error", "mandate_invalid_signature"},
		mandate.DuplicateKey:         {mandate.ErrMalformed, 400, "validation_error", "mandate_invalid_signature"},
		mandate.KBMissing:            {mandate.ErrInvalid, 403, "mandate_invalid", "mandate_required"},
		mandate.BadSignature:         {mandate.ErrInvalid, 403, "mandate_invalid", "mandate_invalid_signature"},
		mandate.KidUnknown:           {mandate.ErrInvalid, 403, "mandate_invalid", "mandate_invalid_signature"},
		mandate.BadIss:               {mandate.ErrInvalid, 403, "mandate_invalid", "mandate_invalid_signature"},
		mandate.NotYetValid:          {mandate.ErrInvalid, 403, "mandate_invalid", "mandate_invalid_signature"},
		mandate.BadCnf:               {mandate.ErrInvalid, 403, "mandate_invalid", "agent_missing_key"},
		mandate.ConstraintsMismatch:  {mandate.ErrInvalid, 403, "mandate_invalid", "mandate_scope_mismatch"},
		mandate.KBBadSDHash:          {mandate.ErrInvalid, 403, "mandate_invalid", "mandate_invalid_signature"},
		mandate.KBBadTransactionData: {mandate.ErrInvalid, 403, "mandate_invalid", "mandate_scope_mismatch"},
		mandate.Expired:              {mandate.ErrExpired, 403, "mandate_expired", "mandate_expired"},
		mandate.Revoked:              {mandate.ErrRevoked, 403, "mandate_revoked", "mandate_expired"},
		mandate.PerTx:                {mandate.ErrPerTxLimit, 402, "per_tx", "mandate_scope_mismatch"},
		mandate.PayeeNotAllowed:      {mandate.ErrPayeeNotAllowed, 403, "merchant_not_allowed", "mandate_scope_mismatch"},
		mandate.RailNotAllowed:       {mandate.ErrRailNotAllowed, 402, "rail_unavailable", "mandate_scope_mismatch"},
		mandate.BadAmount:            {mandate.ErrBadPayment, 400, "validation_error", ""},
		mandate.KeysUnavailable:      {mandate.ErrUnavailable, 503, "unavailable", ""},
		mandate.StatusUnavailable:    {mandate.ErrUnavailable, 503, "unavailable", ""},
	} {
		cause := errors.New("cause")
		e := &mandate.Error{Reason: reason, Err: cause}
		wrapped := fmt.Errorf("charge: %w", e)
		for _, class := range all {
			require.Equal(t, errors.Is(want.class, class), errors.Is(wrapped, class), "%s is %v", reason, class)
		}
		require.ErrorIs(t, wrapped, cause)
		require.ErrorIs(t, wrapped, &mandate.Error{Reason: reason})
		require.NotErrorIs(t, wrapped, &mandate.Error{Reason: "other"})
		require.Equal(t, want.status, e.HTTPStatus(), reason)
		require.Equal(t, want.code, e.Code(), reason)
		require.Equal(t, want.ap2, e.AP2Code(), reason)
		require.Contains(t, e.Error(), string(reason))
	}
}
