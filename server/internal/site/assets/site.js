// What makes the service's pages more pleasant. They work without it.
"use strict";
(() => {
  // Times in the viewer's time zone and language; the UTC time stays as a title.
  const shown = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const t of document.querySelectorAll("time[datetime]")) {
    t.title = t.textContent;
    t.textContent = shown.format(new Date(t.dateTime));
  }
  // Buttons that copy the text of an element.
  for (const button of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    const name = button.textContent;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = name; }, 2000);
    });
  }
})();
