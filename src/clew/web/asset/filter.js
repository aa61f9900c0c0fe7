"use strict";
// Search while the user types: the list of the answer replaces the one that is shown. `data-list` of the form selects it.
(() => {
  const form = clew.one("form[data-list]"), list = form.dataset.list;
  let timer = 0, asked = 0;
  clew.one("input[type=search]", form).addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const number = ++asked, address = form.action.split("?")[0] + "?" + new URLSearchParams(new FormData(form));
      try {
        const answer = await fetch(address);
        if (!answer.ok) throw new Error(answer.statusText);
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (number !== asked) return;
        clew.one(list).replaceWith(clew.one(list, page));
        history.replaceState(null, "", address);
      } catch (failed) { if (number === asked) clew.toast("The server did not answer, so the list was not searched.", "bad"); }
    }, 120);
  });
})();
