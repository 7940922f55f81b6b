// The reference facilitator of @x402/evm on the chain of the caller, for both versions of
// x402, until it is ended; prints its address.
import { readFileSync } from "node:fs";
import express from "express";
import { createWalletClient, http, publicActions } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { baseSepolia } from "viem/chains";
import { x402Facilitator } from "@x402/core/facilitator";
import { toFacilitatorEvmSigner } from "@x402/evm";
import { registerExactEvmScheme } from "@x402/evm/exact/facilitator";

const { rpc, key, network = "eip155:84532" } = JSON.parse(readFileSync(0, "utf8"));
const account = privateKeyToAccount(key);
const client = createWalletClient({ account, chain: baseSepolia, transport: http(rpc), pollingInterval: 50 }).extend(publicActions);
const signer = toFacilitatorEvmSigner({ ...client, address: account.address });
const facilitator = registerExactEvmScheme(new x402Facilitator(), { signer, networks: network });

const app = express();
app.use(express.json());
const answer = (work) => async (req, resp) => {
  try {
    resp.json(await work(req.body));
  } catch (e) {
    resp.status(500).json({ error: String(e) });
  }
};
app.post("/verify", answer(({ paymentPayload, paymentRequirements }) => facilitator.verify(paymentPayload, paymentRequirements)));
let last = Promise.resolve(); // the account that settles counts its transactions, so one settles at a time
app.post("/settle", answer(({ paymentPayload, paymentRequirements }) => {
  const settled = last.then(() => facilitator.settle(paymentPayload, paymentRequirements));
  last = settled.catch(() => {});
  return settled;
}));
app.get("/supported", answer(() => facilitator.getSupported()));
const listener = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(JSON.stringify({ url: `http://127.0.0.1:${listener.address().port}` }) + "\n");
});
