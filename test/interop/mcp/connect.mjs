// Connects with the official TypeScript SDK by OAuth: discovery, registration, PKCE, consent in a browser, token. The
// first line of the output is the address for the browser. The browser's return does the rest and shows the result.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { auth, discoverAuthorizationServerMetadata, refreshAuthorization } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const request = JSON.parse(readFileSync(0, "utf8"));
const server = createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const callback = `http://127.0.0.1:${server.address().port}/callback`;
const kept = {};
const provider = {
  redirectUrl: callback,
  clientMetadata: { client_name: "Interop app", redirect_uris: [callback], application_type: "native", token_endpoint_auth_method: "none" },
  state: () => "interop",
  clientInformation: () => kept.client, saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens, saveTokens: (tokens) => { kept.tokens = tokens; },
  codeVerifier: () => kept.verifier, saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  redirectToAuthorization: (url) => console.log(JSON.stringify({ url: url.href })),
};
const url = new URL(request.url);
const open = () => new StreamableHTTPClientTransport(url, { authProvider: provider });

// use connects with an access token and calls a function. It gives the kind of the error that ended it.
async function use(token, call) {
  const transport = token
    ? new StreamableHTTPClientTransport(url, { requestInit: { headers: { Authorization: `Bearer ${token}` } } })
    : open();
  const client = new Client({ name: "interop", version: "1.0.0" });
  try {
    await client.connect(transport);
    return await call(client);
  } catch (error) {
    return error.constructor.name;
  } finally {
    await client.close();
  }
}
const list = async (client) => (await client.listTools()).tools.length;

async function finish(query) {
  await transport.finishAuth(query.get("code"));
  const scope = kept.tokens.scope;
  const [tools, paid, refused] = await use(undefined, async (client) => [
    await list(client),
    (await client.callTool({ name: "delegare_fetch", arguments: { url: request.page } })).structuredContent,
    await client.callTool({ name: "revoke_mandate", arguments: { mandateId: request.mandate } }).then(() => "called", (error) => String(error.code ?? error.message)),
  ]);
  const first = kept.tokens;
  await auth(provider, { serverUrl: url });
  const refreshed = await use(kept.tokens.access_token, list);
  const metadata = await discoverAuthorizationServerMetadata(url.origin);
  const reused = await refreshAuthorization(url.origin, { metadata, clientInformation: kept.client, refreshToken: first.refresh_token, resource: url })
    .then(() => "refreshed", (error) => error.constructor.name);
  return {
    iss: query.get("iss"), state: query.get("state"), scope, tools, content: paid.content, paid: paid.paid, withoutScope: refused,
    changed: first.access_token !== kept.tokens.access_token, refreshed, reused, afterwards: await use(kept.tokens.access_token, list),
  };
}

server.on("request", async (incoming, answer) => {
  const at = new URL(incoming.url, callback);
  if (at.pathname !== "/callback") return answer.writeHead(404).end();
  const result = await finish(at.searchParams).catch((error) => ({ error: String(error.stack) }));
  answer.setHeader("Content-Type", "text/html").end(`<pre id="result">${JSON.stringify(result).replaceAll("<", "&lt;")}</pre>`);
});

const transport = open();
await new Client({ name: "interop", version: "1.0.0" }).connect(transport).catch((error) => {
  if (error.constructor.name !== "UnauthorizedError") throw error;
});
