// Command hello is the shortest program that is paid: run it beside `paywarrant dev`, with
// baseUrl and merchant.payTo of what dev prints in SERVICE_API_URL and PAY_TO.
package main

import (
	"log"
	"net/http"
	"os"

	"github.com/paywarrant/paywarrant/paywall"
)

func main() {
	gate := paywall.Must(paywall.New(paywall.Config{Price: "0.50", PayTo: os.Getenv("PAY_TO"), APIURL: os.Getenv("SERVICE_API_URL"), Origin: "http://127.0.0.1:8081", TestMode: true}))
	http.Handle("GET /hello", gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("paid\n")) })))
	log.Fatal(http.ListenAndServe("127.0.0.1:8081", nil))
}
