// What `mppx validate` pays with: the wallet whose key is in the environment.
import { evm } from "mppx/evm/client";
import { privateKeyToAccount } from "viem/accounts";

const account = privateKeyToAccount(process.env.WALLET_KEY);
export default { methods: [evm.charge({ account, authorization: { name: "USDC", version: "2" } })] };
