// Sells /weather for a cent with one of the official servers, whose facilitator is
// ours, to the official client of the same version, and prints what the client received.
import { readFileSync } from "node:fs";
import express from "express";
import { privateKeyToAccount } from "viem/accounts";

const { server, facilitator, payTo, key } = JSON.parse(readFileSync(0, "utf8"));
const account = privateKeyToAccount(key);
const app = express();
let pay, header, decode;

if (server === "@x402/express") {
  const { paymentMiddleware, x402ResourceServer } = await import("@x402/express");
  const { ExactEvmScheme } = await import("@x402/evm/exact/server");
  const { HTTPFacilitatorClient } = await import("@x402/core/server");
  const { wrapFetchWithPaymentFromConfig, decodePaymentResponseHeader } = await import("@x402/fetch");
  const { ExactEvmScheme: Client } = await import("@x402/evm");
  const resources = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitator })).register("eip155:84532", new ExactEvmScheme());
  app.use(paymentMiddleware(
    { "GET /weather": { accepts: { scheme: "exact", price: "$0.01", network: "eip155:84532", payTo }, description: "The weather now" } },
    resources,
  ));
  pay = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network: "eip155:84532", client: new Client(account) }] });
  [header, decode] = ["payment-response", decodePaymentResponseHeader];
} else {
  const { paymentMiddleware } = await import("x402-express");
  const { wrapFetchWithPayment, decodeXPaymentResponse } = await import("x402-fetch");
  app.use(paymentMiddleware(payTo, { "GET /weather": { price: "$0.01", network: "base-sepolia" } }, { url: facilitator }));
  pay = wrapFetchWithPayment(fetch, account);
  [header, decode] = ["x-payment-response", decodeXPaymentResponse];
}

app.get("/weather", (_, resp) => resp.json({ sky: "clear" }));
const listener = app.listen(0, "127.0.0.1", async () => {
  const resp = await pay(`http://127.0.0.1:${listener.address().port}/weather`);
  const sent = resp.headers.get(header);
  const answer = { status: resp.status, body: await resp.text(), receipt: sent ? decode(sent) : null };
  process.stdout.write(JSON.stringify(answer));
  process.exit(0);
});
