package agent_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/paywarrant/paywarrant/agent"
	apiclient "github.com/paywarrant/paywarrant/client"
)

// What is free is answered as it is; a 402 would be paid once, by the mandate.
func ExampleNewTransport() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "sunny") }))
	defer api.Close()
	c, err := apiclient.New(apiclient.Config{BaseURL: "https://sandbox.pay.example", MerchantID: "mer_1", APIKey: "sk_test_1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	transport, err := agent.NewTransport(agent.Config{Service: c, Mandate: "dtok_1", MaxPriceMicros: 20_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer transport.CloseIdleConnections()
	hc := &http.Client{Transport: transport}
	resp, err := hc.Get(api.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	_, paid := agent.ReceiptFrom(resp)
	fmt.Println(resp.Status, paid)
	// Output: 200 OK false
}
