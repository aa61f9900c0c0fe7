"use strict";
// Search while the user types: the list of the answer replaces the one that is shown.
(() => {
  const form = clew.one(".filter"), field = clew.one("input[type=search]", form);
  let timer = 0, asked = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const number = ++asked, address = "/files?" + new URLSearchParams(new FormData(form));
      try {
        const answer = await fetch(address);
        if (!answer.ok) throw new Error(answer.statusText);
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (number !== asked) return;
        clew.one("#files").replaceWith(clew.one("#files", page));
        history.replaceState(null, "", address);
      } catch (failed) { if (number === asked) clew.toast("The server did not answer, so the list was not searched.", "bad"); }
    }, 120);
  });
})();
