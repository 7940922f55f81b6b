// Command hello is the shortest program that is paid. Run `paywarrant dev --env dev.env`, and
// in another terminal:
//
//	. ./dev.env
//	go run ./examples/hello
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
