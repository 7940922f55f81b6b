// The setup page says what the limits in the form can cost at most, as the person types.
// Without it the page says so for the limits that were asked for.
"use strict";
(() => {
  const form = document.getElementById("setup");
  const sentence = document.getElementById("worst");
  if (!form || !sentence) return;
  // A code and an address are none of this question.
  const apart = ["email", "mailed", "code", "proven", "connected", "proposal", "signature"];
  let asked = 0;
  const ask = async (question) => {
    const body = new URLSearchParams(new FormData(form));
    for (const name of apart) body.delete(name);
    const answer = await fetch(form.getAttribute("action") + "/worst", { method: "POST", body });
    const type = answer.headers.get("Content-Type") || "";
    if (question !== asked || !type.startsWith("application/json")) return;
    const { worst, problem } = await answer.json();
    if (question === asked) sentence.textContent = worst || problem;
  };
  let pause;
  form.addEventListener("input", () => {
    asked++;
    clearTimeout(pause);
    pause = setTimeout(() => { ask(asked).catch(() => {}); }, 200);
  });
})();
