// Pays for this page with a wallet in the browser (EIP-1193): x402, scheme exact.
"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const buttons = [...document.querySelectorAll(".pay")];
  const again = by("again");
  const address = location.href.split("#")[0];
  const kept = "payment for " + address;

  // Problem has a message for the person.
  class Problem extends Error {}

  const show = (box, text) => {
    box.textContent = text;
    box.hidden = text === "";
  };

  // request calls the wallet. The text refused is shown if the person refuses there.
  const request = async (method, params, refused) => {
    try {
      return await window.ethereum.request({ method, params });
    } catch (e) {
      if (e && e.code === 4001) throw new Problem(refused);
      if (e && e.code === -32002) throw new Problem("Your wallet waits for an answer. Open it, answer there, and try again.");
      throw e;
    }
  };

  const encode = (value) => btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))));
  const decode = (text) => JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(text), (c) => c.charCodeAt(0))));

  // account connects the wallet on the network of an offer.
  const account = async (offer) => {
    show(by("wallet-status"), "Open your wallet and choose an account.");
    const [owner] = await request("eth_requestAccounts", [], "You did not let this page see an account. Nothing was paid.");
    if (!owner) throw new Problem("Your wallet has no account.");
    const wrong = `Your wallet is on another network. Switch it to ${offer.name} and try again. Nothing was paid.`;
    const there = async () => BigInt(await request("eth_chainId", [], wrong)) === BigInt(offer.chain);
    if (await there()) return owner;
    show(by("wallet-status"), `Switch your wallet to ${offer.name}.`);
    try {
      await request("wallet_switchEthereumChain", [{ chainId: "0x" + BigInt(offer.chain).toString(16) }], wrong);
    } catch (e) {
      if (e && e.code === 4902) throw new Problem(`Your wallet does not know ${offer.name}. Add that network and try again. Nothing was paid.`);
      throw e;
    }
    if (!(await there())) throw new Problem(wrong);
    return owner;
  };

  // challenge returns a new challenge and the time at the server. The challenge must ask for
  // what the page shows.
  const challenge = async (offer) => {
    const response = await fetch(address, { headers: { Accept: "application/json" }, cache: "no-store" });
    const header = response.headers.get("PAYMENT-REQUIRED");
    if (response.status !== 402 || !header) throw new Problem("This page asks for no payment now. Load it again. Nothing was paid.");
    const required = decode(header);
    const accepted = required.accepts.find((a) => a.scheme === "exact" && a.network === offer.network &&
      a.asset === offer.asset && a.amount === offer.amount && a.payTo === offer.to);
    if (!accepted) throw new Problem("The price has changed. Load this page again. Nothing was paid.");
    const now = Date.parse(response.headers.get("Date") || "") || Date.now();
    return { required, accepted, now: Math.floor(now / 1000) };
  };

  const fields = (...names) => names.map(([type, name]) => ({ type, name }));

  // typed returns the transfer for eth_signTypedData_v4 (EIP-3009).
  const typed = (offer, accepted, message) => JSON.stringify({
    domain: { name: accepted.extra.name, version: accepted.extra.version, chainId: Number(offer.chain), verifyingContract: offer.asset },
    primaryType: "TransferWithAuthorization",
    types: {
      EIP712Domain: fields(["string", "name"], ["string", "version"], ["uint256", "chainId"], ["address", "verifyingContract"]),
      TransferWithAuthorization: fields(["address", "from"], ["address", "to"], ["uint256", "value"], ["uint256", "validAfter"], ["uint256", "validBefore"], ["bytes32", "nonce"]),
    },
    message,
  });

  // sign returns the header that pays.
  const sign = async (offer) => {
    const from = await account(offer);
    const { required, accepted, now } = await challenge(offer);
    const random = crypto.getRandomValues(new Uint8Array(32));
    const authorization = {
      from, to: offer.to, value: offer.amount, validAfter: "0", validBefore: String(now + accepted.maxTimeoutSeconds),
      nonce: "0x" + [...random].map((b) => b.toString(16).padStart(2, "0")).join(""),
    };
    show(by("wallet-status"), "Sign in your wallet. You pay no gas.");
    const signature = await request("eth_signTypedData_v4", [from, typed(offer, accepted, authorization)], "You refused to sign. Nothing was paid.");
    return encode({ x402Version: 2, resource: required.resource, accepted, payload: { signature, authorization } });
  };

  // reveal shows what was bought. It runs no script of it.
  const reveal = async (response) => {
    const blob = await response.blob();
    const type = (response.headers.get("Content-Type") || "").split(";")[0].trim();
    const url = URL.createObjectURL(blob);
    let shown = null;
    if (type === "text/html") {
      shown = Object.assign(document.createElement("iframe"), { title: "What you bought", src: url });
      shown.setAttribute("sandbox", "");
    } else if (/^image\/(png|jpeg|gif|webp|avif)$/.test(type)) {
      shown = Object.assign(document.createElement("img"), { alt: "What you bought", src: url });
    } else if (type.startsWith("text/") || /^application\/([a-z0-9.-]+\+)?json$/.test(type)) {
      shown = Object.assign(document.createElement("pre"), { tabIndex: 0, textContent: await blob.text() });
    }
    if (shown) by("content").replaceChildren(shown);
    const last = new URL(address).pathname.split("/").pop();
    Object.assign(by("save"), { href: url, download: last || "paid" });
    Object.assign(by("state"), { className: "badge good", textContent: "Paid" });
    by("paid").hidden = false;
    by("wallet").hidden = true;
    by("paid").scrollIntoView();
  };

  // pay sends a payment. It is kept until there is an answer that decides it, also if the
  // page is loaded again: sent twice, it pays once.
  const pay = async (header) => {
    sessionStorage.setItem(kept, header);
    show(by("wallet-status"), "Paying…");
    let response;
    try {
      response = await fetch(address, { headers: { "PAYMENT-SIGNATURE": header }, cache: "no-store" });
    } catch {
      throw new Problem("There was no answer. The payment may have been made: ask again, and do not pay a second time.");
    }
    if (response.ok) {
      await reveal(response);
      sessionStorage.removeItem(kept);
      return;
    }
    if (response.status === 402) {
      sessionStorage.removeItem(kept);
      const why = await response.json().catch(() => ({}));
      throw new Problem("The payment was refused. " + (why.message || why.error || ""));
    }
    throw new Problem(`The page answered ${response.status}. The payment may have been made: ask again, and do not pay a second time.`);
  };

  // run does the work of a button and shows what went wrong.
  const run = async (work) => {
    show(by("wallet-error"), "");
    for (const b of [...buttons, again]) b.disabled = true;
    try {
      await work();
    } catch (e) {
      show(by("wallet-error"), e instanceof Problem ? e.message : "Your wallet failed: " + ((e && e.message) || e));
    }
    show(by("wallet-status"), "");
    for (const b of [...buttons, again]) b.disabled = false;
    offer();
  };

  // offer shows the buttons that make sense now.
  const offer = () => {
    const header = sessionStorage.getItem(kept);
    again.hidden = !header;
    by("none").hidden = Boolean(window.ethereum || header);
    for (const b of buttons) b.hidden = !window.ethereum || Boolean(header);
  };

  for (const b of buttons) b.addEventListener("click", () => run(async () => pay(await sign(b.dataset))));
  again.addEventListener("click", () => run(() => pay(sessionStorage.getItem(kept))));
  offer();
})();
