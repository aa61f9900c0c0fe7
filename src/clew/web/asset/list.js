"use strict";
// The list of sessions: filters while the user types, loads further rows, keeps the chosen row, shows a preview, stays live.
(() => {
  const place = clew.one("#rows"), form = clew.one("#find"), preview = clew.one("#preview");
  let request = null, isLoading = false, timer = 0, buildTimer = 0;

  const query = () => new URLSearchParams(Array.from(new FormData(form)).filter(([, value]) => value)).toString();
  const rowOf = (id) => place.querySelector(`li.session[data-id="${CSS.escape(id)}"]`);
  const fetchRows = async (words, signal) => {
    const answer = await fetch("/sessions/rows?" + words, { signal });
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.text();
  };
  const parse = (html) => Object.assign(document.createElement("template"), { innerHTML: html }).content;

  // -- filtering: the newest answer alone is shown; if there is none, the old rows do not stay as if they were it

  const reload = async (isTyping) => {
    request?.abort();
    const mine = request = new AbortController();
    const words = query();
    isLoading = true;
    try {
      const html = await fetchRows(isTyping ? "typing=1&" + words : words, mine.signal);
      const kept = clew.chosen()?.dataset?.id;
      place.innerHTML = html;
      place.classList.remove("is-stale");
      history.replaceState(history.state, "", location.pathname + (words ? "?" + words : ""));
      sessionStorage.setItem("clew-list", words);
      if (kept && rowOf(kept)) clew.choose(rowOf(kept));
      watch();
    } catch (failed) {
      if (failed.name === "AbortError") return;
      place.classList.add("is-stale");
      clew.toast("The server does not answer; the list is not up to date.", "bad");
    } finally {
      if (mine === request) isLoading = false;
    }
  };
  // The first key is answered at once; while an answer is awaited, keys that follow quickly become one request.
  form.addEventListener("input", () => {
    clearTimeout(timer);
    if (isLoading) timer = setTimeout(() => reload(true), 60); else reload(true);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    const first = clew.one("li.session a.title", place);
    if (first && query() === location.search.slice(1)) location.assign(first.href); else reload();
  });
  clew.one("#search-text").addEventListener("click", (event) => { event.currentTarget.href = "/search?" + new URLSearchParams({ q: form.elements.q.value }); });

  // -- further rows are loaded when their link comes near; a group that continues is joined

  const append = (content) => {
    for (const group of content.querySelectorAll("section.group")) {
      for (const row of group.querySelectorAll("li.session[data-id]")) if (rowOf(row.dataset.id)) row.remove();
      const last = clew.all("section.group", place).at(-1);
      if (last && last.dataset.group === group.dataset.group) clew.one("ol", last).append(...clew.one("ol", group).children);
      else place.append(group);
    }
    const counted = clew.one("#counted", place), shown = clew.all("li.session[data-id]", place).length;
    if (counted) counted.textContent = shown.toLocaleString("en");
  };
  const more = async () => {
    const link = clew.one("#more", place);
    if (!link || link.dataset.loading) return false;
    link.dataset.loading = "1";
    try {
      const content = parse(await fetchRows(new URL(link.href).search.slice(1)));
      link.parentElement.remove();
      append(content);
      const next = content.querySelector(".more");
      if (next) place.append(next);
      watch();
      return true;
    } catch (failed) { delete link.dataset.loading; return false; }
  };
  const seen = new IntersectionObserver((entries) => { if (entries.some((each) => each.isIntersecting)) more(); }, { rootMargin: "800px" });
  const watch = () => {
    seen.disconnect();
    const link = clew.one("#more", place);
    if (link) seen.observe(link);
    clearTimeout(buildTimer);
    if (clew.one("[data-building]", place)) buildTimer = setTimeout(() => { if (scrollY < 400) reload(); else watch(); }, 1500);
  };

  // -- the chosen row: kept in the history, so that Back returns to it, and shown in the preview

  let previewed = clew.one("li.session[data-id]", place)?.dataset.id, previewTimer = 0;
  const showPreview = async (id) => {
    if (!id || id === previewed || !preview.offsetParent) return;
    previewed = id;
    try {
      const answer = await fetch("/sessions/preview/" + encodeURIComponent(id));
      if (answer.ok && previewed === id) { preview.innerHTML = await answer.text(); preview.scrollTop = 0; }
    } catch (failed) { previewed = ""; }
  };
  const remember = (id) => history.replaceState({ ...history.state, chosen: id }, "");
  place.addEventListener("clew-chosen", (event) => {
    const id = event.target.dataset.id;
    remember(id);
    clearTimeout(previewTimer);
    previewTimer = setTimeout(() => showPreview(id), 80);
  });
  place.addEventListener("click", (event) => {
    const row = event.target.closest("li.session[data-id]");
    if (!row) return;
    if (event.target.closest("a.title")) remember(row.dataset.id);
    else if (!event.target.closest("a, button")) clew.choose(row);
  });
  const restore = async () => {
    const id = history.state?.chosen;
    if (!id) return;
    while (!rowOf(id) && (await more())) { /* the row may be on a later page */ }
    if (rowOf(id)) clew.choose(rowOf(id));
  };

  // -- pins and tags, without leaving the page

  document.addEventListener("submit", async (event) => {
    const target = event.target;
    if (target.getAttribute("action") !== "/marks") return;
    event.preventDefault();
    const fields = new FormData(target, event.submitter);
    try {
      await clew.post("/marks", Object.fromEntries(fields));
      const button = event.submitter;
      if (button?.classList.contains("pin")) {
        const isPinned = button.name === "pin";
        button.name = isPinned ? "unpin" : "pin";
        button.title = isPinned ? "Unpin" : "Pin";
        button.setAttribute("aria-pressed", String(isPinned));
        clew.toast(isPinned ? "Pinned." : "No longer pinned.", "good");
      } else {
        const id = previewed;
        previewed = "";
        await showPreview(id);
        await reload();
      }
    } catch (failed) { clew.toast("The server did not take the change.", "bad"); }
  });
  clew.key("p", "pin or unpin the session", () => clew.chosen()?.querySelector(".pin")?.click());

  // -- menus of filters

  clew.all(".narrow").forEach((field) => {
    field.hidden = false;
    const options = clew.all("li", field.parentElement);
    field.addEventListener("input", () => {
      const word = field.value.toLowerCase();
      options.forEach((option) => { option.hidden = !clew.one(".label", option).textContent.toLowerCase().includes(word); });
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { options.find((option) => !option.hidden)?.querySelector("a").click(); event.preventDefault(); }
    });
  });
  clew.all(".filter > summary").forEach((summary) => summary.addEventListener("click", (event) => {
    event.preventDefault();  // open it now, so that the next key reaches its field
    const menu = summary.parentElement;
    menu.open = !menu.open;
    if (menu.open) clew.one(".narrow, a", menu)?.focus();
  }));
  document.addEventListener("click", (event) => clew.all(".filter[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; }));
  document.addEventListener("keydown", (event) => {
    const menu = event.target.closest?.(".filter[open]");
    if (!menu) return;
    if (event.key === "Escape") { menu.open = false; clew.one("summary", menu).focus(); }
    const links = clew.all("li:not([hidden]) a", menu), step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && links.length) { event.preventDefault(); links[(links.indexOf(document.activeElement) + step + links.length) % links.length].focus(); }
  });

  // -- live: new sessions appear by themselves at the top; further down a button says how many there are

  const update = async ({ version }) => {
    const about = clew.one(".about", place);
    if (document.hidden || about?.dataset.version === version) return;  // the rows have all that was seen since then
    try {
      const content = parse(await fetchRows(query()));
      const rows = Array.from(content.querySelectorAll("li.session[data-id]"));
      const fresh = rows.filter((row) => !rowOf(row.dataset.id));
      for (const row of rows) {
        const old = rowOf(row.dataset.id);
        if (old && old.innerHTML !== row.innerHTML) old.replaceChildren(...row.childNodes);
      }
      if (about) about.dataset.version = version;
      clew.one(".new-rows")?.remove();
      if (!fresh.length) return;
      if (scrollY < 200) { reload(); return; }
      const button = Object.assign(document.createElement("button"), { className: "new-rows primary", textContent: `${fresh.length} new session${fresh.length > 1 ? "s" : ""}` });
      button.addEventListener("click", () => { button.remove(); scrollTo(0, 0); reload(); });
      place.before(button);
    } catch (failed) { /* the banner of the shell says that the server is away */ }
  };
  clew.follow("sessions", update);
  document.addEventListener("clew-reconnected", () => reload());

  sessionStorage.setItem("clew-list", location.search.slice(1));
  watch();
  restore();
})();
