// Connects with the official TypeScript SDK, lists the tools, and pays for a page: remotely with an
// access token, or over the standard input and output of a program.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const request = JSON.parse(readFileSync(0, "utf8"));
const transport = request.command
  ? new StdioClientTransport({ command: request.command, args: request.args, env: { ...process.env, ...request.env } })
  : new StreamableHTTPClientTransport(new URL(request.url), { requestInit: { headers: { Authorization: `Bearer ${request.token}` } } });
const client = new Client({ name: "interop", version: "1.0.0" });
await client.connect(transport);
const { tools } = await client.listTools();
const first = await client.callTool({ name: "delegare_fetch", arguments: { url: request.page } });
const again = await client.callTool({ name: "delegare_fetch", arguments: { url: request.page } });
const balance = await client.callTool({ name: "check_mandate_balance", arguments: {} });
await client.close();
console.log(JSON.stringify({
  tools: tools.map((t) => t.name),
  content: first.structuredContent?.content, paid: first.structuredContent?.paid,
  again: again.isError ? JSON.parse(again.content[0].text).code : "paid",
  spentCents: balance.structuredContent?.currentMonthlySpendCents,
}));
