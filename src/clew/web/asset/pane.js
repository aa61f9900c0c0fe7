"use strict";
// The list of sessions beside the reader: that of the last visit to the list. It can be folded away.
(() => {
  const wide = matchMedia("(min-width: 80rem)");
  const session = location.pathname.split("/")[2];
  let pane = clew.one("#pane"), rows = null;

  const parse = (html) => Object.assign(document.createElement("template"), { innerHTML: html }).content;
  const address = (words) => "/sessions/rows?" + words;
  const words = () => sessionStorage.getItem("clew-list") || "";
  const get = async (path) => {
    const answer = await fetch(path);
    if (!answer.ok) throw new Error(answer.statusText);
    return parse(await answer.text());
  };
  const mark = () => {
    const row = rows.querySelector(`li.session[data-id="${CSS.escape(session)}"]`);
    row?.setAttribute("aria-current", "page");
    return row;
  };
  const more = new IntersectionObserver(async (entries) => {
    const link = entries.find((each) => each.isIntersecting)?.target;
    if (!link) return;
    more.disconnect();
    try {
      const content = await get(address(new URL(link.href).search.slice(1)));
      content.querySelector(".status")?.remove();
      link.parentElement.remove();
      rows.append(content);
      watch();
      mark();
    } catch (failed) { watch(); }
  }, { rootMargin: "400px" });
  const watch = () => { const link = clew.one("#more", rows); if (link) more.observe(link); };

  const load = async () => {
    try {
      const content = await get(address(words()));
      const position = pane.scrollTop;
      content.querySelectorAll("form, .pin").forEach((each) => each.remove());
      rows.replaceChildren(content);
      watch();
      mark();
      pane.scrollTop = position;
      return true;
    } catch (failed) { return false; }
  };
  const open = async () => {
    if (!wide.matches || rows) return;
    const fold = Object.assign(document.createElement("button"), { className: "quiet icon-button", textContent: "⟨⟨", title: "Fold the list away (l)" });
    fold.setAttribute("aria-label", "Fold the list away");
    fold.addEventListener("click", toggle);
    const list = Object.assign(document.createElement("a"), { href: "/sessions" + (words() ? "?" + words() : ""), textContent: "Sessions" });
    const head = Object.assign(document.createElement("div"), { className: "pane-head" });
    head.append(list, fold);
    rows = Object.assign(document.createElement("div"), { className: "rows" });
    rows.append(...Array.from({ length: 8 }, () => Object.assign(document.createElement("span"), { className: "skeleton" })));
    pane.replaceChildren(head, rows);
    await load();
    const kept = sessionStorage.getItem("clew-pane-scroll");
    if (kept) pane.scrollTop = Number(kept);
    const row = mark();
    if (row) { const box = row.getBoundingClientRect(); if (box.top < 48 || box.bottom > innerHeight) pane.scrollTop += box.top - innerHeight / 3; }
    pane.addEventListener("scroll", () => sessionStorage.setItem("clew-pane-scroll", String(pane.scrollTop)), { passive: true });
  };

  const unfold = Object.assign(document.createElement("button"), { className: "unfold-pane", textContent: "⟩⟩ Sessions", title: "Show the list (l)" });
  const toggle = () => {
    const isFolded = Boolean(pane);
    document.cookie = `clew-pane=${isFolded ? "folded" : ""}; path=/; max-age=${isFolded ? 31536000 : 0}; samesite=strict`;
    if (isFolded) { pane.remove(); pane = rows = null; document.body.append(unfold); }
    else {
      unfold.remove();
      pane = Object.assign(document.createElement("aside"), { id: "pane", className: "pane" });
      pane.setAttribute("aria-label", "Sessions");
      clew.one("main").before(pane);
      open();
    }
  };
  unfold.addEventListener("click", toggle);
  const step = (by) => {
    const links = clew.all("li.session a.title", pane), now = links.findIndex((link) => link.closest("[aria-current]"));
    if (links[now + by] && (now >= 0 || by > 0)) location.assign(links[now + by].href);
  };

  clew.key("l", "show or hide the list of sessions", toggle);
  clew.key("]", "next session of the list", () => step(1));
  clew.key("[", "previous session of the list", () => step(-1));
  if (pane) open(); else document.body.append(unfold);
  wide.addEventListener("change", () => { if (pane) open(); });
  const PAUSE = 1000;  // milliseconds after a change: the turns of the session come first, and a session is often written to
  let newest = "", timer = 0;
  const renew = () => { timer = 0; if (rows && !document.hidden && clew.one(".about", rows)?.dataset.version !== newest) load(); };
  clew.follow("sessions", ({ version }) => { newest = version; timer = timer || setTimeout(renew, PAUSE); });
})();
