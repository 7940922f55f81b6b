// Copies the token of a bundle.
"use strict";
(() => {
  const button = document.getElementById("copy");
  if (!button || !navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const done = document.getElementById("copied");
    try {
      await navigator.clipboard.writeText(document.getElementById("token").textContent);
      done.textContent = "Copied.";
    } catch {
      done.textContent = "Your browser did not allow it. Select the token and copy it.";
    }
    done.hidden = false;
  });
})();
