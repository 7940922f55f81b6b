// Buys from a metered URL with the official client: before and after the wallet lets Permit2
// move tokens, and with a client that knows only the scheme exact. Prints the responses. With
// a facilitator, the URL is that of an official server which this script runs first.
import { readFileSync } from "node:fs";
import { createPublicClient, createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { baseSepolia } from "viem/chains";
import { wrapFetchWithPaymentFromConfig, decodePaymentResponseHeader } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm";
import { UptoEvmScheme, createPermit2ApprovalTx } from "@x402/evm/upto/client";

const { url, key, rpc, token, facilitator, merchant, payTo } = JSON.parse(readFileSync(0, "utf8"));
const network = "eip155:84532";
const account = privateKeyToAccount(key);

// serve sells for at most ten cents, and settles four of them.
async function serve() {
  const { default: express } = await import("express");
  const { paymentMiddleware, setSettlementOverrides, x402ResourceServer } = await import("@x402/express");
  const { UptoEvmScheme } = await import("@x402/evm/upto/server");
  const { HTTPFacilitatorClient } = await import("@x402/core/server");
  const headers = { "X-Service-Merchant-Id": merchant.id, "X-Service-Api-Key": merchant.apiKey };
  const auth = async () => ({ verify: headers, settle: headers, supported: headers });
  const resources = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitator, createAuthHeaders: auth })).register(network, new UptoEvmScheme());
  const app = express();
  app.use(paymentMiddleware({ "GET /weather": { accepts: { scheme: "upto", price: "$0.10", network, payTo }, description: "The weather now" } }, resources));
  app.get("/weather", (_, resp) => {
    setSettlementOverrides(resp, { amount: "40000" });
    resp.json({ sky: "clear" });
  });
  return new Promise((resolve) => {
    const listener = app.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${listener.address().port}/weather`));
  });
}

async function buy(url, client) {
  const resp = await wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network, client }] })(url);
  const sent = resp.headers.get("payment-response");
  return { status: resp.status, body: await resp.text(), receipt: sent ? decodePaymentResponseHeader(sent) : null };
}

async function approve() {
  const chain = { ...baseSepolia, rpcUrls: { default: { http: [rpc] } } };
  const wallet = createWalletClient({ account, chain, transport: http(rpc) });
  const hash = await wallet.sendTransaction(createPermit2ApprovalTx(token));
  await createPublicClient({ chain, transport: http(rpc) }).waitForTransactionReceipt({ hash, pollingInterval: 50 });
}

const at = facilitator ? await serve() : url;
const answers = [await buy(at, new UptoEvmScheme(account))];
await approve();
answers.push(await buy(at, new UptoEvmScheme(account)));
if (!facilitator) answers.push(await buy(at, new ExactEvmScheme(account)));
process.stdout.write(JSON.stringify(answers));
process.exit(0);
