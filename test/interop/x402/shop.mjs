// Sells /weather for a cent with one of the official servers, whose facilitator is
// ours, until it is ended; prints its address.
import { readFileSync } from "node:fs";
import express from "express";

const { server, bound, facilitator, payTo } = JSON.parse(readFileSync(0, "utf8"));
const app = express();

const gates = {
  "@x402/express": async () => {
    const { paymentMiddleware, x402ResourceServer } = await import("@x402/express");
    const { ExactEvmScheme } = await import("@x402/evm/exact/server");
    const { HTTPFacilitatorClient } = await import("@x402/core/server");
    const resources = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitator })).register("eip155:84532", new ExactEvmScheme());
    return paymentMiddleware(
      { "GET /weather": { accepts: { scheme: "exact", price: "$0.01", network: "eip155:84532", payTo }, description: "The weather now" } },
      resources,
    );
  },
  "x402-express": async () => {
    const { paymentMiddleware } = await import("x402-express");
    return paymentMiddleware(payTo, { "GET /weather": { price: "$0.01", network: "base-sepolia" } }, { url: facilitator });
  },
  mppx: async () => {
    const { Mppx } = await import("mppx/express");
    const { evm } = await import("mppx/evm/server");
    const sells = Mppx.create({
      methods: [evm.charge({ currency: evm.assets.baseSepolia.USDC, recipient: payTo, x402: { facilitator, ...(bound && { routeBinding: "required" }) } })],
      realm: "127.0.0.1", secretKey: "a secret of thirty-two bytes or more",
    });
    return sells.charge({ amount: "0.01" });
  },
};

app.use(await gates[server]());
app.get("/weather", (_, resp) => resp.json({ sky: "clear" }));
const listener = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(JSON.stringify({ url: `http://127.0.0.1:${listener.address().port}/weather` }) + "\n");
});
