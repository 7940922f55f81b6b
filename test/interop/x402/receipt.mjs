// Reads a transaction's receipt over JSON-RPC with viem, and prints what it moved.
import { readFileSync } from "node:fs";
import { createPublicClient, http, parseEventLogs, erc20Abi } from "viem";

const { rpcUrl, usdc, hashes } = JSON.parse(readFileSync(0, "utf8"));
const client = createPublicClient({ transport: http(rpcUrl) });
const receipts = [];
for (const hash of hashes) {
  const receipt = await client.getTransactionReceipt({ hash });
  const transfers = parseEventLogs({ abi: erc20Abi, eventName: "Transfer", logs: receipt.logs })
    .filter((log) => log.address.toLowerCase() === usdc.toLowerCase())
    .map(({ args }) => ({ from: args.from, to: args.to, value: args.value.toString() }));
  receipts.push({ status: receipt.status, transfers });
}
console.log(JSON.stringify({ chainId: await client.getChainId(), receipts }));
