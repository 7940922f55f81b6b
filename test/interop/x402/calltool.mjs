// Calls a paid tool with the official TypeScript SDK, whose client mppx has wrapped, and prints
// the result.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { evm } from "mppx/evm/client";
import { McpClient } from "mppx/mcp/client";
import { privateKeyToAccount } from "viem/accounts";

const { url, key, experimental } = JSON.parse(readFileSync(0, "utf8"));
const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities: { experimental } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
let approved = 0;
McpClient.wrap(client, {
  methods: [evm.charge({ account: privateKeyToAccount(key), authorization: { name: "USDC", version: "2" } })],
  onPaymentRequired: () => ++approved,
});
const result = await client.callTool({ name: "forecast", arguments: { town: "Oslo" } });
await client.close();
process.stdout.write(JSON.stringify({
  status: result.isError ? 500 : 200, body: result.content[0].text, receipt: result.receipt, approved,
}));
process.exit(0);
