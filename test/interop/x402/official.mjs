// Sells /weather and /news for a cent each with one of the official servers, whose
// facilitator is ours, until it is ended. The caller sets how long its handlers take.
import { readFileSync } from "node:fs";

const { server, facilitator, payTo, delayMs, network = "eip155:84532" } = JSON.parse(readFileSync(0, "utf8"));
const paths = ["/weather", "/news"];
const sleep = () => new Promise((resolve) => setTimeout(resolve, delayMs));

async function v2(paymentMiddleware, x402ResourceServer) {
  const { ExactEvmScheme } = await import("@x402/evm/exact/server");
  const { HTTPFacilitatorClient } = await import("@x402/core/server");
  const resources = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitator })).register(network, new ExactEvmScheme());
  const accepts = { scheme: "exact", price: "$0.01", network, payTo };
  return paymentMiddleware(Object.fromEntries(paths.map((path) => [`GET ${path}`, { accepts, description: path }])), resources);
}

async function serveExpress(gate) {
  const { default: express } = await import("express");
  const app = express();
  app.use(gate);
  for (const path of paths) app.get(path, async (_, resp) => { await sleep(); resp.json({ path }); });
  const listener = app.listen(0, "127.0.0.1", () => ready(listener.address().port));
}

async function serveHono(gate) {
  const { Hono } = await import("hono");
  const { serve } = await import("@hono/node-server");
  const app = new Hono();
  app.use(gate);
  for (const path of paths) app.get(path, async (c) => { await sleep(); return c.json({ path }); });
  serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => ready(port));
}

const ready = (port) => process.stdout.write(JSON.stringify({ url: `http://127.0.0.1:${port}` }) + "\n");

switch (server) {
  case "@x402/express": {
    const { paymentMiddleware, x402ResourceServer } = await import("@x402/express");
    await serveExpress(await v2(paymentMiddleware, x402ResourceServer));
    break;
  }
  case "@x402/hono": {
    const { paymentMiddleware, x402ResourceServer } = await import("@x402/hono");
    await serveHono(await v2(paymentMiddleware, x402ResourceServer));
    break;
  }
  case "x402-express": {
    const { paymentMiddleware } = await import("x402-express");
    const routes = Object.fromEntries(paths.map((path) => [path, { price: "$0.01", network: "base-sepolia" }]));
    await serveExpress(paymentMiddleware(payTo, routes, { url: facilitator }));
    break;
  }
  default:
    throw new Error(`no server ${server}`);
}
