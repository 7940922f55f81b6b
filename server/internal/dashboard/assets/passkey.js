// Adds a passkey, or signs in by one: the service gives the options, the browser answers them,
// and the form sends the answer.
"use strict";
(() => {
  const form = document.getElementById("passkey-form");
  if (!form) return;
  const button = form.querySelector("button");
  const errorBox = document.getElementById("passkey-error");
  const show = (text) => {
    errorBox.textContent = text;
    errorBox.hidden = text === "";
    button.disabled = false;
  };
  const reasons = {
    NotAllowedError: "Your browser gave no passkey, or you canceled. Nothing was changed.",
    InvalidStateError: "This device has a passkey of your account already.",
    SecurityError: "Browsers allow passkeys only at https, and at localhost. Open this page there.",
  };
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    show("");
    if (!window.PublicKeyCredential || !PublicKeyCredential.parseRequestOptionsFromJSON) return show("This browser has no passkeys.");
    button.disabled = true;
    try {
      const response = await fetch(form.dataset.ask, { method: "POST", body: new URLSearchParams(new FormData(form)) });
      const type = response.headers.get("Content-Type") || "";
      if (!type.startsWith("application/json")) return form.submit(); // the page that answers says why
      const { options, problem } = await response.json();
      if (problem) return show(problem);
      const made = options.user
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
      form.elements.answer.value = JSON.stringify({ ...made.toJSON(), clientExtensionResults: {} });
      form.submit();
    } catch (e) {
      show(reasons[e && e.name] || "Your browser failed: " + ((e && e.message) || e));
    }
  });
})();
