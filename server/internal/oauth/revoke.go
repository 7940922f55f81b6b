package oauth

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// revoke revokes a token of an app (RFC 7009): an access token alone, or with a refresh token
// everything that the merchant granted with it. A token that is not known is no error.
func (s *Service) revoke(w http.ResponseWriter, r *http.Request) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	hash := id.Hash(in.Get("token"))
	secret, g, err := s.Store.OAuthSecret(r.Context(), hash)
	switch {
	case err == nil && secret.Kind == store.SecretRefresh:
		return s.revokeGrant(r, g, in.Get("client_id"))
	case err != nil && !errors.Is(err, ledger.ErrNotFound):
		return err
	}
	t, _, err := s.Store.AccessToken(r.Context(), hash)
	if errors.Is(err, ledger.ErrNotFound) || (err == nil && t.GrantID == "") {
		return nil
	}
	if err == nil {
		g, err = s.Store.OAuthGrant(r.Context(), t.GrantID)
	}
	if err != nil {
		return err
	}
	if g.ClientID != in.Get("client_id") {
		return invalidGrant("the token was issued to another client")
	}
	if _, err := s.Store.RevokeAccessToken(r.Context(), t.MerchantID, t.ID, s.Clock()); err != nil {
		return err
	}
	s.Audit.Record(r.Context(), audit.TokenRevoked, slog.String("merchantId", t.MerchantID), slog.String("tokenId", t.ID))
	return nil
}

func (s *Service) revokeGrant(r *http.Request, g store.OAuthGrant, clientID string) error {
	if g.ClientID != clientID {
		return invalidGrant("the token was issued to another client")
	}
	revoked, err := s.Store.RevokeOAuthGrant(r.Context(), g.MerchantID, g.ID, s.Clock())
	if err == nil && revoked {
		s.Audit.Did(r.Context(), audit.Merchant(g.MerchantID), "app.disconnect", g.ID, slog.String("reason", "the app revoked its token"))
		s.Audit.Record(r.Context(), audit.AppDisconnected, slog.String("merchantId", g.MerchantID), slog.String("grantId", g.ID))
	}
	return err
}
