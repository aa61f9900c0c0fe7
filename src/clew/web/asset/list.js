"use strict";
// The list: asks while somebody types, and shows the newest answer alone.
(() => {
  const form = clew.one("#find");
  const place = clew.one("#hits");
  let asked = null;
  let timer = 0;

  const wish = () => new URLSearchParams(Array.from(new FormData(form)).filter(([, value]) => value)).toString();

  const ask = async () => {
    if (asked) asked.abort();
    asked = new AbortController();
    const words = wish();
    try {
      const answer = await fetch("/list?" + words, { signal: asked.signal });
      if (!answer.ok) { clew.toast("The server did not answer. Open the address that clew serve printed."); return; }
      place.innerHTML = await answer.text();
      history.replaceState(null, "", location.pathname + (words ? "?" + words : ""));
      again();
    } catch (failed) {
      if (failed.name !== "AbortError") clew.toast("The server has ended.");
    }
  };

  const again = () => {  // while the index is being built there is more to see in a moment
    clearTimeout(timer);
    if (clew.one("[data-building]", place)) timer = setTimeout(ask, 1000);
  };

  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, form.elements.semantic?.checked ? 600 : 120);  // comparing meanings takes longer
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    const first = clew.one("li.session > a", place);
    if (document.activeElement === form.elements.q && first && wish() === location.search.slice(1)) location.assign(first.href);
    else ask();
  });
  form.querySelector("button").hidden = true;
  if (location.pathname === "/search") form.elements.q.focus();
  again();
})();
