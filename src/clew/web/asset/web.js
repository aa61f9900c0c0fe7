"use strict";
// What all pages share: light and dark, the keys, copying, and telling what was done.
const clew = (() => {
  const root = document.documentElement;
  const one = (selector, from) => (from || document).querySelector(selector);
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));

  const say = (text) => { const place = one("#said"); if (place) place.textContent = text; };

  const kept = localStorage.getItem("clew-theme");
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  const turnTheme = () => {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const now = root.dataset.theme || system;
    root.dataset.theme = now === "dark" ? "light" : "dark";
    localStorage.setItem("clew-theme", root.dataset.theme);
  };

  const copy = async (text, what) => {
    try { await navigator.clipboard.writeText(text); say(what + " copied."); }
    catch (refused) { say("The browser does not let this page copy."); }
  };

  const showKeys = () => { const help = one("#help"); if (!help.open) help.showModal(); };

  // Choosing: j and k go through sessions or turns, whichever the page has.
  const things = () => all(".sessions > li, #pages .turn[id], .pair");
  let chosen = null;
  const choose = (thing) => {
    if (!thing) return;
    if (chosen) chosen.classList.remove("chosen");
    chosen = thing;
    thing.classList.add("chosen");
    const link = one("a", thing);
    if (link) link.focus({ preventScroll: true });
    thing.scrollIntoView({ block: thing.matches(".turn, .pair") ? "start" : "nearest" });
  };
  const current = () => {
    if (chosen && chosen.isConnected) return things().indexOf(chosen);
    const target = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    return target ? things().indexOf(target) : -1;
  };
  const step = (by) => {
    const list = things();
    if (list.length) choose(list[Math.min(list.length - 1, Math.max(0, current() + by))]);
  };

  let before = "";
  const keys = {
    "/": () => { const field = one("input[type=search]"); if (field) { field.focus(); field.select(); } },
    "?": showKeys,
    j: () => step(1),
    k: () => step(-1),
    G: () => choose(things().at(-1)),
    g: () => { if (before === "g") choose(things()[0]); },
    o: () => { const list = chosen ? all("details.call", chosen) : []; const open = list.some((each) => !each.open); list.forEach((each) => { each.open = open; }); },
    c: () => { const link = chosen ? one("[data-copy]", chosen) : null; if (link) link.click(); },
    b: () => { const field = one("#branch"); if (field) field.focus(); },
    u: () => { location.assign("/"); },
    t: turnTheme,
  };
  document.addEventListener("keydown", (event) => {
    const at = event.target;
    if (event.key === "Escape" && at.matches("input, select")) { at.blur(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || at.matches("input, select, textarea") || one("dialog[open]")) return;
    const does = keys[event.key];
    if (does) { event.preventDefault(); does(); }
    before = event.key === before ? "" : event.key;
  });

  document.addEventListener("click", async (event) => {
    const link = event.target.closest("[data-copy]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      const answer = await fetch(link.href);
      if (answer.ok) copy(await answer.text(), "The turn was"); else say("The turn cannot be read.");
    }
    const button = event.target.closest("[data-copies]");
    if (button) copy(document.getElementById(button.dataset.copies).textContent, "The command was");
  });

  all("#theme, #keys, [data-copies]").forEach((each) => { each.hidden = false; });
  one("#theme").addEventListener("click", turnTheme);
  one("#keys").addEventListener("click", showKeys);
  return { one, all, say, choose };
})();
