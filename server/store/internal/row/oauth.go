package row

import (
	"strings"

	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// OAuthClient reads a stored row.
func OAuthClient(r db.OauthClient) (store.OAuthClient, error) {
	return store.OAuthClient{
		ID: r.ID, Name: r.Name, RedirectURIs: strings.Split(r.RedirectUris, "\n"), Network: r.Network,
		CreatedAt: at(r.CreatedMs), ExpiresAt: at(r.ExpiresMs),
	}, nil
}

// OAuthGrant reads a stored row.
func OAuthGrant(r db.OauthGrant) (store.OAuthGrant, error) {
	return store.OAuthGrant{
		ID: r.ID, MerchantID: r.MerchantID, MandateID: r.MandateID, ClientID: r.ClientID, ClientName: r.ClientName,
		RedirectURI: r.RedirectUri, Challenge: r.Challenge, Resource: r.Resource, Scopes: strings.Fields(r.Scopes),
		CreatedAt: at(r.CreatedMs), ExpiresAt: at(r.ExpiresMs), RedeemedAt: at(r.RedeemedMs), UsedAt: at(r.UsedMs), RevokedAt: at(r.RevokedMs),
	}, nil
}

// OAuthSecret reads a stored row.
func OAuthSecret(r db.OauthSecret) store.OAuthSecret {
	return store.OAuthSecret{
		Hash: r.Hash, GrantID: r.GrantID, Kind: store.SecretKind(r.Kind), ExpiresAt: at(r.ExpiresMs), UsedAt: at(r.UsedMs),
	}
}
