"use strict";
// The reader: pages are loaded as they come into sight, the address follows the turn, and what is written appears.
(() => {
  const main = clew.one("#content"), pages = clew.one("#pages"), field = clew.one("#find"), found = clew.one("#found");
  const base = main.dataset.base;
  const MOST = 10, LARGEST = 10000;  // pages in the document at a time, and their elements: what is added moves all of them
  const isFull = () => pages.children.length > MOST || (pages.children.length > 3 && pages.getElementsByTagName("*").length > LARGEST);
  const address = (path, values) => {  // with the choices of the reader
    const query = new URLSearchParams(main.dataset.query);
    Object.entries(values || {}).forEach(([name, value]) => { if (value) query.set(name, value); });
    return base + path + (query.size ? "?" + query : "");
  };
  const read = async (part) => {
    const answer = await fetch(part);
    if (!answer.ok) throw new Error(answer.statusText);
    const made = document.createElement("template");
    made.innerHTML = await answer.text();
    return made.content;
  };

  // -- further pages, above and below

  history.scrollRestoration = "manual";  // the address says where to begin
  let isMoved = false;  // whether the reader scrolled; until then nothing is put above
  let isJumping = false;
  const ends = () => [isMoved ? clew.one(".page:first-child > .earlier a", pages) : null, clew.one(".page:last-child > .later a", pages)];
  const sight = new IntersectionObserver((seen) => seen.filter((each) => each.isIntersecting).forEach((each) => more(each.target)), { rootMargin: "1200px 0px" });
  const watch = () => { sight.disconnect(); ends().filter(Boolean).forEach((link) => sight.observe(link)); };
  const more = async (link) => {
    if (link.dataset.asked || isJumping) return;
    link.dataset.asked = "1";
    const isEarlier = Boolean(link.closest(".earlier"));
    try {
      const page = (await read(link.dataset.part)).firstElementChild;
      if (isJumping || !link.isConnected) return;
      const root = document.documentElement, height = root.scrollHeight;
      if (isEarlier) {
        pages.prepend(page);
        scrollBy({ top: root.scrollHeight - height, behavior: "instant" });
        while (isFull()) pages.lastElementChild.remove();
      } else {
        pages.append(page);
        while (isFull()) {
          const gone = pages.firstElementChild.offsetHeight;
          pages.firstElementChild.remove();
          scrollBy({ top: -gone, behavior: "instant" });
        }
      }
      changed(page);
    } catch (failed) { clew.toast("The next turns cannot be read.", "bad"); }
    delete link.dataset.asked;
    watch();
  };
  pages.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-part]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); more(link); }
  });
  const changed = (page) => { session.refresh(); if (field.value.trim()) { session.mark(field.value, page); ticks(); } };

  // -- the place: the address names the turn that is read, and Back returns to it

  const here = (turn) => address("", { page: turn.closest(".page").dataset.page, find: field.value.trim() }) + "#" + turn.id;
  session.onMove((number, turn) => { if (isMoved && !isJumping) history.replaceState(history.state, "", here(turn)); });
  document.addEventListener("clew-chosen", (event) => {
    if (event.target.matches(".turn")) { session.hold(event.target); history.replaceState(history.state, "", here(event.target)); }
  });
  const go = (element, isChosen) => {
    session.reveal(element);
    if (element.matches("details")) element.open = true;
    if (isChosen && element.matches(".turn")) clew.choose(element); else element.scrollIntoView();
  };
  // Show a page of the session alone, unless the element is there already.
  const jump = async (page, id, isChosen) => {
    let target = id ? document.getElementById(id) : null;
    if (!target) {
      isJumping = true;
      try {
        pages.replaceChildren(...(await read(address("/page/" + page))).children);
        changed();
      } catch (failed) { clew.toast("These turns cannot be read.", "bad"); return; }
      finally { isJumping = false; }
      target = id ? document.getElementById(id) : null;
    }
    if (target) go(target, isChosen);
    watch();
  };
  const count = () => Number(pages.lastElementChild.dataset.count);
  const chooseEnd = async (isLast) => {
    await jump(isLast ? count() : 1, "", false);
    const turns = clew.all(".turn[id]", pages);
    if (turns.length) clew.choose(isLast ? turns.at(-1) : turns[0]);
  };
  const isLoaded = (page) => Boolean(clew.one('.page[data-page="' + page + '"]', pages));
  const ask = (isLast) => isLoaded(isLast ? count() : 1)
    ? clew.choose(isLast ? clew.all(".turn[id]", pages).at(-1) : clew.all(".turn[id]", pages)[0]) : chooseEnd(isLast);

  clew.one("#side").addEventListener("click", (event) => {
    const link = event.target.closest("a[data-turn]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, "", address("", { page: link.dataset.page }) + "#turn-" + link.dataset.turn);
    jump(link.dataset.page, "turn-" + link.dataset.turn, true);
  });
  addEventListener("popstate", () => {
    const id = location.hash.slice(1);
    if (/^(turn|part|call)-/.test(id)) jump(new URLSearchParams(location.search).get("page") || 1, id, false);
  });
  ["wheel", "keydown", "pointerdown", "touchmove"].forEach((kind) => {
    addEventListener(kind, () => { if (!isMoved) { isMoved = true; setTimeout(watch, 300); } }, { passive: true });
  });

  // -- find: the server knows all turns; the marks are in those that are loaded

  let hits = null, asked = "";
  const others = () => {  // matches on pages that are not loaded
    const loaded = new Set(clew.all(".page", pages).map((page) => Number(page.dataset.page)));
    return hits ? hits.hits.filter((hit) => !loaded.has(hit.page)) : [];
  };
  const sum = (list) => list.reduce((total, hit) => total + hit.count, 0);
  const tell = () => {
    if (!field.value.trim()) { found.textContent = ""; return; }
    const at = session.current(), elsewhere = others(), first = Number(pages.firstElementChild.dataset.page);
    const total = session.marks() + sum(elsewhere), above = sum(elsewhere.filter((hit) => hit.page < first));
    found.textContent = hits === null ? "…" : total ? (at >= 0 ? above + at + 1 + " of " : "") + total : "none";
  };
  const ticks = () => {
    const sums = new Map();
    others().forEach((hit) => sums.set(String(hit.turn), (sums.get(String(hit.turn)) || 0) + hit.count));
    sums.forEach((count, turn) => { const link = clew.one('a[data-turn="' + turn + '"]'); if (link) link.dataset.hits = count; });
  };
  const search = async () => {
    const words = field.value.trim();
    if (words === asked) return;
    asked = words;
    session.mark(words);
    hits = null;
    tell();
    if (!words) return;
    try {
      const answer = await fetch(address("/find", { q: words }), { headers: { Accept: "application/json" } });
      const now = await answer.json();
      if (asked !== words) return;
      hits = now;
    } catch (failed) { clew.toast("The server did not answer.", "bad"); return; }
    ticks();
    tell();
  };
  // The next match: in what is loaded, else on the next page that has one.
  const next = async (by) => {
    await search();
    if (!hits || !hits.total) return;
    const first = session.current() < 0 ? clew.all(".turn[id]", pages).find((turn) => turn.getBoundingClientRect().bottom > 100) : null;
    if (first ? session.step(1, first) : session.step(by)) { tell(); return; }
    const loaded = clew.all(".page", pages).map((page) => Number(page.dataset.page));
    const elsewhere = others().map((hit) => hit.page);
    const after = elsewhere.filter((page) => page > loaded.at(-1)), before = elsewhere.filter((page) => page < loaded[0]);
    const page = by > 0 ? after[0] ?? before[0] : before.at(-1) ?? after.at(-1);
    if (page) { await jump(page, "", false); ticks(); }
    session.to(by > 0 ? 0 : session.marks() - 1);
    tell();
  };
  let typing = 0;
  field.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(search, 150); });
  field.form.addEventListener("submit", (event) => { event.preventDefault(); next(1); });
  field.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); next(-1); } });
  clew.one("#find-next").addEventListener("click", () => next(1));
  clew.one("#find-previous").addEventListener("click", () => next(-1));
  clew.all("#find-next, #find-previous, #fold").forEach((button) => { button.hidden = false; });

  // -- what is new

  let state = pages.dataset.state, isBusy = false, isStale = false;
  // The numbers and the outline follow after a pause: until then the new turns come into all windows.
  const PAUSE = 300;  // milliseconds
  let timer = 0, hasGrown = false;
  const put = async (selector, path) => clew.one(selector).replaceChildren(...(await read(address(path))).childNodes);
  const putAround = async () => {
    const isOutlined = hasGrown;
    timer = 0;
    hasGrown = false;
    try {
      await put("#numbers", "/header");
      if (isOutlined) { await put("#outline", "/outline"); ticks(); }
    } catch (failed) { clew.toast("The new turns cannot be read.", "bad"); }
  };
  const renew = async () => {
    if (isBusy) { isStale = true; return; }
    isBusy = true;
    try {
      do {
        isStale = false;
        const last = pages.lastElementChild;
        const isEnd = !clew.one(":scope > .later", last);
        const fresh = (await read(address("/page/" + last.dataset.page))).firstElementChild;
        if (["first", "branches"].some((name) => fresh.dataset[name] !== last.dataset[name])) { location.reload(); return; }  // the conversation went back
        const grew = fresh.dataset.turns !== last.dataset.turns;
        if (isEnd) {
          const isBelow = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
          const opened = new Map(clew.all("details[id]", last).map((each) => [each.id, each.open]));
          clew.all("details[id]", fresh).forEach((each) => { if (opened.has(each.id)) each.open = opened.get(each.id); });
          last.replaceWith(fresh);
          changed(fresh);
          watch();
          if (isBelow) scrollTo({ top: document.documentElement.scrollHeight });
        }
        if (grew) clew.toast("Turn " + fresh.dataset.turns + " has begun.");
        hasGrown = hasGrown || grew;
        timer = timer || setTimeout(putAround, PAUSE);
      } while (isStale);
    } catch (failed) { clew.toast("The new turns cannot be read.", "bad"); }
    finally { isBusy = false; }
  };
  clew.follow("session:" + base.split("/")[2], (now) => {
    if (now.gone) { clew.banner("The file of this session was deleted. Reload this page to see what is left of it."); return; }
    if (state !== now.state) renew();
    state = now.state;
  });

  // -- choices, folding, keys

  clew.all("form.wish").forEach((form) => {
    form.addEventListener("change", () => {
      const wish = new URLSearchParams(main.dataset.query);
      clew.all("[name]", form).forEach((each) => {
        const value = each.type === "checkbox" ? (each.checked ? each.value : "") : each.value;
        if (value && value !== "calls") wish.set(each.name, value); else wish.delete(each.name);
      });
      location.assign(base + (wish.size ? "?" + wish : ""));
    });
    clew.one("button", form).hidden = true;
  });
  const fold = clew.one("#fold");
  const foldAll = () => {
    const isOpen = fold.getAttribute("aria-pressed") !== "true";
    fold.setAttribute("aria-pressed", String(isOpen));
    fold.textContent = isOpen ? "Close all" : "Open all";
    session.fold(isOpen);
  };
  fold.addEventListener("click", foldAll);
  const side = clew.one("#side");
  clew.one(".outline-button").addEventListener("click", (event) => { event.preventDefault(); side.classList.add("is-open"); clew.one("a[data-turn]", side)?.focus(); });
  side.addEventListener("click", (event) => { if (event.target.closest(".close-side, a[data-turn]")) { if (event.target.closest(".close-side")) event.preventDefault(); side.classList.remove("is-open"); } });
  side.addEventListener("keydown", (event) => { if (event.key === "Escape") { side.classList.remove("is-open"); clew.one(".outline-button").focus(); } });
  document.addEventListener("keydown", (event) => { const menu = clew.one(".menu[open]"); if (event.key === "Escape" && menu) { menu.open = false; clew.one("summary", menu).focus(); } });
  document.addEventListener("click", (event) => clew.all(".menu[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; }));

  const current = () => clew.chosen() || clew.all(".turn[id]", pages).find((turn) => turn.getBoundingClientRect().bottom > 120);
  clew.key("g g", "first turn", () => ask(false));
  clew.key("G", "last turn", () => ask(true));
  clew.key("/", "find in this session", () => { field.focus(); field.select(); });
  clew.key("n", "next match", () => next(1));
  clew.key("N", "previous match", () => next(-1));
  clew.key("o", "open or close the calls of the turn", () => { const list = clew.all("details.call, details.calls", current()); const isOpen = list.some((each) => !each.open); list.forEach((each) => { each.open = isOpen; }); });
  clew.key("O", "open or close all", foldAll);
  clew.key("s", "diffs side by side or below each other", () => main.classList.toggle("split"));
  clew.key("c", "copy the turn as Markdown", () => clew.one('[href*="/markdown"]', current())?.click());
  clew.key("b", "choose a branch", () => clew.one("#branch")?.focus());
  clew.key("u", "back to the list", () => location.assign("/sessions"));

  // -- where to begin

  const named = /^#((turn|part|call)-.+)$/.exec(location.hash);
  if (named) {
    const target = document.getElementById(named[1]);
    if (target) go(target, !main.dataset.words);
    else if (named[2] === "turn") location.replace(address("/turn/" + named[1].slice(5)));
  }
  if (main.dataset.words) {
    search();
    session.step(1, named ? document.getElementById(named[1]) || pages : pages);
    tell();
  }
  watch();
})();
