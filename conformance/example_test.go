package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/paywarrant/paywarrant/conformance"
)

func ExampleValidate() {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	report, err := conformance.Validate(context.Background(), conformance.Config{URL: srv.URL + "/weather"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		if r.Status == conformance.Fail {
			fmt.Println(r.ID, r.Detail)
		}
	}
	// Output: http.status answered 404
}
