// Proves a wallet: one in the browser (EIP-1193) signs a text, and the form sends the address
// and the signature. The text stands in the form, or comes from the form's data-ask.
"use strict";
(() => {
  const form = document.getElementById("wallet-form");
  if (!form) return;
  const button = form.querySelector("button");
  const errorBox = document.getElementById("wallet-error");
  const show = (text) => { errorBox.textContent = text; errorBox.hidden = text === ""; };
  const hex = (text) => "0x" + Array.from(new TextEncoder().encode(text), (b) => b.toString(16).padStart(2, "0")).join("");
  const set = (name, value) => { form.elements[name].value = value; };
  // ask returns the text for an address, or shows why there is none.
  const ask = async (wallet) => {
    const answer = await fetch(form.dataset.ask, { method: "POST", body: new URLSearchParams({ wallet }) });
    const type = answer.headers.get("Content-Type") || "";
    if (!type.startsWith("application/json")) throw new Error("the service did not answer");
    const { text, at, problem } = await answer.json();
    if (problem) {
      show(problem);
      button.disabled = false;
      return "";
    }
    set("at", at);
    return text;
  };
  button.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    show("");
    if (!window.ethereum) return show("There is no wallet in this browser. Install one, and load the page again.");
    button.disabled = true;
    try {
      const [address] = await window.ethereum.request({ method: "eth_requestAccounts" });
      const text = form.dataset.ask ? await ask(address) : form.dataset.text.replace("{wallet}", address.toLowerCase());
      if (!text) return;
      set("signature", await window.ethereum.request({ method: "personal_sign", params: [hex(text), address] }));
      set("wallet", address);
      form.submit();
    } catch (e) {
      show(e && e.code === 4001 ? "You refused in your wallet. Nothing was changed." : "Your wallet failed: " + ((e && e.message) || e));
      button.disabled = false;
    }
  });
})();
