// Sells the tool forecast for a cent with the official TypeScript SDK and mppx, until it is ended;
// prints its address.
import { readFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";
import { evm } from "mppx/evm/server";
import { Transport } from "mppx/mcp/server";
import { Mppx } from "mppx/server";
import { z } from "zod";

const { facilitator, payTo } = JSON.parse(readFileSync(0, "utf8"));
// The method evm brings a transport of its own, for HTTP: here it goes by that for tools.
const charge = { ...evm.charge({ currency: evm.assets.baseSepolia.USDC, recipient: payTo, x402: { facilitator } }), transport: Transport.mcpSdk() };
const sells = Mppx.create({ methods: [charge], realm: "127.0.0.1", secretKey: "a secret of thirty-two bytes or more", transport: Transport.mcpSdk() });

function tools() {
  const server = new McpServer({ name: "tools", version: "1.0.0" });
  server.registerTool("forecast", { inputSchema: { town: z.string() } }, async ({ town }, extra) => {
    const paid = await sells.charge({ amount: "0.01" })(extra);
    if (paid.status === 402) throw paid.challenge;
    return paid.withReceipt({ content: [{ type: "text", text: `${town}: sunny` }] });
  });
  return server;
}

const app = express();
app.use(express.json());
app.post("/mcp", async (req, resp) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  resp.on("close", () => transport.close());
  await tools().connect(transport);
  await transport.handleRequest(req, resp, req.body);
});
app.all("/mcp", (_, resp) => resp.status(405).end());
const listener = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(JSON.stringify({ url: `http://127.0.0.1:${listener.address().port}/mcp` }) + "\n");
});
