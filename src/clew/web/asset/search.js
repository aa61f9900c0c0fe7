"use strict";
// Search: asks while the user types and shows the newest answer alone; counts follow when they are ready.
(() => {
  const form = clew.one("#find"), field = form.elements.q, place = clew.one("#found"), facets = clew.one("#facets");
  const help = clew.one(".help", place)?.cloneNode(true);
  const MAX_RECENT = 8;
  let request = null, isLoading = false, timer = 0, buildTimer = 0, counting = 0;

  const query = () => new URLSearchParams(Array.from(new FormData(form)).filter(([, value]) => value)).toString();
  const get = async (address, signal) => {
    const answer = await fetch(address, { signal });
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.text();
  };

  const search = async () => {
    request?.abort();
    const mine = request = new AbortController();
    const words = query(), { signal } = mine;
    isLoading = true;
    try {
      const html = await get("/search/hits?" + words, signal);
      place.innerHTML = html;
      place.classList.remove("is-stale");
      if (!field.value.trim() && help) clew.one(".help", place)?.replaceWith(help.cloneNode(true));
      history.replaceState(history.state, "", "/search" + (words ? "?" + words : ""));
      clew.all("[name=query]").forEach((each) => { each.value = field.value; });
      again();
      clearTimeout(counting);
      counting = setTimeout(() => count(signal), 250);
    } catch (failed) {
      if (failed.name === "AbortError") return;
      place.classList.add("is-stale");
      clew.toast("The server does not answer; these are not the results of this search.", "bad");
    } finally {
      if (mine === request) isLoading = false;
    }
  };
  const count = async (signal) => {
    if (field.value.trim().length < 3) { facets.replaceChildren(); return; }
    const shown = clew.one("[data-shown]", place)?.dataset.shown || "0";
    try { facets.innerHTML = await get("/search/facets?" + new URLSearchParams({ q: field.value, shown }), signal); } catch (failed) { /* the next key asks again */ }
  };
  const again = () => {  // while the index is being built there is more to see in a moment
    clearTimeout(buildTimer);
    if (clew.one("[data-building]", place)) buildTimer = setTimeout(search, 1000);
  };
  // The first key is answered at once; while an answer is awaited, keys that follow quickly become one request.
  const later = () => {
    const delay = form.elements.semantic?.checked ? 500 : isLoading ? 40 : 0;
    clearTimeout(timer);
    if (delay) timer = setTimeout(search, delay); else search();
  };

  form.addEventListener("input", later);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    remember(field.value);
    search();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); clew.step(1); }
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-query]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      field.value = link.dataset.query;
      field.focus();
      search();
    } else if (event.target.closest(".hit a")) remember(field.value);
    const more = event.target.closest("#more");
    if (more && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      const at = clew.all("li.session", place).length;
      get("/search/hits?" + new URL(more.href).search.slice(1)).then((html) => {
        place.innerHTML = html;
        clew.choose(clew.items()[at]);
      }, () => clew.toast("The server does not answer.", "bad"));
    }
  });

  // -- recent searches stay in this browser

  const recent = () => { try { return JSON.parse(localStorage.getItem("clew-recent") || "[]"); } catch (damaged) { return []; } };
  const remember = (text) => {
    if (!text.trim()) return;
    localStorage.setItem("clew-recent", JSON.stringify([text, ...recent().filter((each) => each !== text)].slice(0, MAX_RECENT)));
    showRecent();
  };
  const showRecent = () => {
    const section = clew.one("#recent"), list = recent().filter((each) => typeof each === "string");
    section.hidden = !list.length;
    clew.one("ul", section).replaceChildren(...list.map((text) => {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = "/search?" + new URLSearchParams({ q: text });
      link.dataset.query = text;
      link.append(Object.assign(document.createElement("span"), { className: "label", textContent: text }));
      item.append(link);
      return item;
    }));
  };

  document.addEventListener("clew-reconnected", () => { if (place.matches(".is-stale")) search(); });
  showRecent();
  if (!field.value) field.focus();
  again();
})();
