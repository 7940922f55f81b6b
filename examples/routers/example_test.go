package routers_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"

	"github.com/paywarrant/paywarrant/paywall"
)

// newGate returns a gate that sells reports. A subscriber's key replaces payment, so that
// the examples can show both responses.
func newGate() *paywall.Gate {
	return paywall.Must(paywall.New(paywall.Config{
		Price: "0.05", PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", APIURL: "https://sandbox.pay.example", TestMode: true,
		Resource: "https://api.example.com/reports/{id}",
		Skip:     func(r *http.Request) bool { return r.Header.Get("X-Api-Key") == "subscriber" },
	}))
}

// show prints the responses to a request without payment and to one of a subscriber.
func show(h http.Handler) {
	for _, key := range []string{"", "subscriber"} {
		r := httptest.NewRequest(http.MethodGet, "/reports/7", http.NoBody)
		r.Header.Set("X-Api-Key", key)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == http.StatusOK {
			fmt.Println(w.Code, w.Body)
			continue
		}
		fmt.Println(w.Code)
	}
}

// Require has the type of chi's middleware.
func Example_chi() {
	r := chi.NewRouter()
	r.With(newGate().Require).Get("/reports/{id}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "report "+chi.URLParam(r, "id"))
	})
	show(r)
	// Output:
	// 402
	// 200 report 7
}

// gin.WrapH adapts the gated handler. Handlers of gin write to gin's own response, which a
// gate cannot observe.
func Example_gin() {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/reports/:id", gin.WrapH(newGate().Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "report "+path.Base(r.URL.Path))
	}))))
	show(r)
	// Output:
	// 402
	// 200 report 7
}

// echo.WrapMiddleware adapts Require, and the handler stays echo's.
func Example_echo() {
	e := echo.New()
	e.GET("/reports/:id", func(c echo.Context) error {
		return c.String(http.StatusOK, "report "+c.Param("id"))
	}, echo.WrapMiddleware(newGate().Require))
	show(e)
	// Output:
	// 402
	// 200 report 7
}
