package market_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/internal/market"
)

func TestRoutesFitTheirTemplates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path, template, want string
		fits                 bool
	}{
		{"/a/b", "", "/a/b", true},
		{"/users/7", "/users/:id", "/users/{id}", true},
		{"/users/a%2Fb/x", "/users/:id/:what", "/users/{id}/{what}", true},
		{"/users/7", "/users/:id/x", "", false},
		{"/users/7", "/other/:id", "", false},
		{"/users/7", "/users/:", "", false},
		{"/users/7", "/users/:a{b", "", false},
		{"/users/7", "users/:id", "", false},
	} {
		got, fits := market.Route(test.path, test.template)
		require.Equal(t, []any{test.want, test.fits}, []any{got, fits}, test)
	}
}
