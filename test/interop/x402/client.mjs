// Pays a URL with one of the official clients, and prints the response.
import { readFileSync } from "node:fs";
import { privateKeyToAccount } from "viem/accounts";

const { client, url, key } = JSON.parse(readFileSync(0, "utf8"));
const account = privateKeyToAccount(key);

const clients = {
  "x402-fetch": async () => {
    const { wrapFetchWithPayment, decodeXPaymentResponse } = await import("x402-fetch");
    const resp = await wrapFetchWithPayment(fetch, account)(url);
    return [resp, "x-payment-response", decodeXPaymentResponse];
  },
  "@x402/fetch": async () => {
    const { wrapFetchWithPaymentFromConfig, decodePaymentResponseHeader } = await import("@x402/fetch");
    const { ExactEvmScheme } = await import("@x402/evm");
    const pay = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network: "eip155:84532", client: new ExactEvmScheme(account) }] });
    return [await pay(url), "payment-response", decodePaymentResponseHeader];
  },
  mppx: async () => {
    const { Mppx } = await import("mppx/client");
    const { evm } = await import("mppx/evm/client");
    const { Receipt } = await import("mppx");
    const mppx = Mppx.create({ methods: [evm.charge({ account, authorization: { name: "USDC", version: "2" } })], polyfill: false });
    return [await mppx.fetch(url), "payment-receipt", (text) => Receipt.deserialize(text)];
  },
};

const [resp, header, decode] = await clients[client]();
const sent = resp.headers.get(header);
const answer = { status: resp.status, body: await resp.text(), receipt: sent ? decode(sent) : null };
process.stdout.write(JSON.stringify(answer));
process.exit(0);
