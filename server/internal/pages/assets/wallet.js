// What the setup page asks of a wallet in the browser (EIP-1193): to sign the grant
// and the permit, which the service brings to the chain, and to revoke by itself.
"use strict";
(() => {
  const errorBox = document.getElementById("wallet-error");
  const statusBox = document.getElementById("wallet-status");

  // Problem is told to the person as it is.
  class Problem extends Error {}

  const show = (box, text) => {
    box.textContent = text;
    box.hidden = text === "";
  };

  // request asks the wallet; refused says what it means when the person refuses.
  const request = async (method, params, refused) => {
    try {
      return await window.ethereum.request({ method, params });
    } catch (e) {
      if (e && e.code === 4001) throw new Problem(refused);
      if (e && e.code === -32002) throw new Problem("Your wallet still waits for an answer. Open it, answer there, and try again.");
      throw e;
    }
  };

  // account connects the wallet, on the network of the page.
  const account = async (chain, name) => {
    if (!window.ethereum) throw new Problem("There is no wallet in this browser. Install one, or choose another way to pay.");
    show(statusBox, "Open your wallet and choose an account.");
    const [owner] = await request("eth_requestAccounts", [], "You did not let this page see an account. Nothing was allowed.");
    if (!owner) throw new Problem("Your wallet has no account.");
    const wanted = "0x" + BigInt(chain).toString(16);
    const wrong = `Your wallet is on another network. Switch it to ${name} and try again.`;
    const there = async () => BigInt(await request("eth_chainId", [], wrong)) === BigInt(chain);
    if (!(await there())) {
      show(statusBox, `Switch your wallet to ${name}.`);
      try {
        await request("wallet_switchEthereumChain", [{ chainId: wanted }], wrong);
      } catch (e) {
        if (e && e.code === 4902) throw new Problem(`Your wallet does not know ${name} (chain id ${chain}). Add that network to it and try again.`);
        throw e;
      }
      if (!(await there())) throw new Problem(wrong);
    }
    return owner;
  };

  // run does what a button is for, and tells what went wrong.
  const run = async (buttons, work) => {
    show(errorBox, "");
    for (const b of buttons) b.disabled = true;
    try {
      await work();
    } catch (e) {
      show(statusBox, "");
      show(errorBox, e instanceof Problem ? e.message : "Your wallet failed: " + ((e && e.message) || e));
      for (const b of buttons) b.disabled = false;
      errorBox.scrollIntoView({ block: "center" });
    }
  };

  // propose asks the service what is to be signed for the limits in the form.
  const propose = async (form, owner) => {
    const body = new URLSearchParams(new FormData(form));
    body.set("owner", owner);
    const answer = await fetch(form.getAttribute("action") + "/wallet", { method: "POST", body });
    const type = answer.headers.get("Content-Type") || "";
    if (!type.startsWith("application/json")) throw new Problem("The service did not answer. Please try again in a moment.");
    const proposal = await answer.json();
    if (proposal.problem) throw new Problem(proposal.problem);
    return proposal;
  };

  const setUp = (form, choice) => {
    choice.hidden = false;
    const radio = choice.querySelector("input");
    // A card can be joined by the wallet.
    const also = document.getElementById("also-wallet");
    const offer = () => { if (also) also.hidden = radio.checked; };
    form.addEventListener("change", offer);
    offer();
    const pays = () => radio.checked || (also && also.querySelector("input").checked);
    const buttons = form.querySelectorAll("button");
    const { chain, network } = choice.dataset;
    const sign = async () => {
      const owner = await account(chain, network);
      const proposal = await propose(form, owner);
      const fields = [["proposal", proposal.id]];
      for (const [i, message] of proposal.messages.entries()) {
        show(statusBox, `Sign in your wallet: ${i + 1} of ${proposal.messages.length}. You pay no gas.`);
        const text = JSON.stringify(message);
        fields.push(["signature", await request("eth_signTypedData_v4", [owner, text], "You refused to sign in your wallet. Nothing was allowed.")]);
      }
      show(statusBox, "Signed. Bringing it to the chain…");
      for (const [name, value] of fields) {
        const input = document.createElement("input");
        Object.assign(input, { type: "hidden", name, value });
        form.append(input);
      }
      form.submit();
    };
    form.addEventListener("submit", (event) => {
      const action = event.submitter ? event.submitter.value : "confirm";
      if (action !== "confirm" || !pays()) return;
      event.preventDefault();
      run(buttons, sign);
    });
  };

  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  // until asks again, once a second and for two minutes.
  const until = async (question, problem) => {
    for (let i = 0; i < 120; i++) {
      const answer = await question();
      if (answer) return answer;
      await pause(1000);
    }
    throw new Problem(problem);
  };

  const setUpRevocation = (section, button) => {
    button.hidden = false;
    const { chain, network, from, to, call } = section.dataset;
    const revoke = async () => {
      const owner = await account(chain, network);
      if (owner.toLowerCase() !== from.toLowerCase()) throw new Problem(`Only ${from} can revoke this. Choose that account in your wallet.`);
      show(statusBox, "Confirm the transaction in your wallet.");
      const hash = await request("eth_sendTransaction", [{ from: owner, to, data: call }], "You refused in your wallet. The mandate is still valid.");
      show(statusBox, "Sent. Waiting for the network…");
      const late = "The network has not taken it yet. Load this page again in a while.";
      const receipt = await until(() => request("eth_getTransactionReceipt", [hash], ""), late);
      if (BigInt(receipt.status) !== 1n) throw new Problem("The network refused the transaction. The mandate may have ended already: load this page again.");
      show(statusBox, "Revoked on the chain.");
      await until(async () => !(await (await fetch(location.href)).text()).includes('id="revoke"'), "Revoked on the chain. This page will say so in a while.");
      location.reload();
    };
    button.addEventListener("click", () => run([button], revoke));
  };

  const form = document.getElementById("setup");
  const choice = document.getElementById("own-wallet");
  if (form && choice) setUp(form, choice);
  const section = document.getElementById("revoke");
  if (section) setUpRevocation(section, document.getElementById("revoke-button"));
})();
