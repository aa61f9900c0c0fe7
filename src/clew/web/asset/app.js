"use strict";
// What all pages share: theme, keys and their help, copying, messages, and moving through a list of items.
const clew = (() => {
  const root = document.documentElement;
  const one = (selector, from) => (from || document).querySelector(selector);
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const TOAST_MS = 4000;

  // -- messages: a toast for what was done, a banner for a state that lasts

  const toast = (text, kind = "") => {
    const item = document.createElement("p");
    item.className = ("toast " + kind).trim();
    item.textContent = text;
    one("#toasts").replaceChildren(item);
    setTimeout(() => item.remove(), TOAST_MS);
  };
  const banner = (text) => {
    const place = one("#banner");
    place.textContent = text;
    place.hidden = !text;
    root.classList.toggle("is-offline", Boolean(text));
  };

  // -- theme

  const post = async (path, values) => {  // a form of this page; the answer is a redirect, which is not followed
    const body = new URLSearchParams({ form_token: document.body.dataset.formToken, ...values });
    const answer = await fetch(path, { method: "POST", body, redirect: "manual" });
    if (!answer.ok && answer.type !== "opaqueredirect") throw new Error(answer.statusText);
  };
  const windows = new BroadcastChannel("clew");
  const applyTheme = (theme) => { if (theme === "system") delete root.dataset.theme; else root.dataset.theme = theme; };
  const showTheme = (theme) => { applyTheme(theme); windows.postMessage(theme); };
  windows.onmessage = ({ data }) => applyTheme(data);
  const switchTheme = async () => {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    showTheme((root.dataset.theme || system) === "dark" ? "light" : "dark");
    try { await post("/settings", { theme: root.dataset.theme }); }
    catch (failed) { toast("The server did not answer, so the theme is not saved.", "bad"); }
  };

  // -- copying: the button says that it was done

  const copy = async (text, message, button) => {
    try {
      await navigator.clipboard.writeText(text);
      toast(message, "good");
      if (button) { button.classList.add("copied"); setTimeout(() => button.classList.remove("copied"), 1500); }
    } catch (refused) { toast("The browser does not allow this page to copy.", "bad"); }
  };
  document.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = event.target.closest("[data-copy]");  // the address of the text to copy
    if (link) {
      event.preventDefault();
      try {
        const answer = await fetch(link.href);
        if (!answer.ok) throw new Error(answer.statusText);
        copy(await answer.text(), link.dataset.copy || "Copied.", link);
      } catch (failed) { toast("The server did not answer, so nothing was copied.", "bad"); }
    }
    const button = event.target.closest("[data-copies]");  // the id of the element with the text to copy
    if (button) copy(document.getElementById(button.dataset.copies).textContent, button.dataset.copied || "Copied.", button);
  });

  // -- keys: `clew.key("j", "next session", action)`; the help lists them in the order in which they were added

  const keys = new Map();
  const key = (name, label, action) => keys.set(name, { label, action });
  const help = () => {
    const dialog = one("#help");
    one("dl", dialog).replaceChildren(...Array.from(keys).flatMap(([name, { label }]) => {
      const term = document.createElement("dt"), text = document.createElement("dd");
      term.append(...name.split(" ").map((part) => Object.assign(document.createElement("kbd"), { textContent: part })));
      text.textContent = label;
      const pair = document.createElement("div");
      pair.append(term, text);
      return [pair];
    }));
    if (!dialog.open) dialog.showModal();
  };
  let before = "";  // the key pressed before, for sequences such as `g g`
  document.addEventListener("keydown", (event) => {
    const at = event.target;
    const name = (event.ctrlKey || event.metaKey ? "Ctrl-" : "") + event.key;
    const isTyping = at.matches("input, select, textarea, [contenteditable]");
    if (event.key === "Escape" && isTyping) { at.blur(); return; }
    if (event.altKey || (isTyping && !name.startsWith("Ctrl-")) || one("dialog[open]")) return;
    const found = keys.get(before + " " + name) || keys.get(name);
    before = found ? "" : name;
    if (found) { event.preventDefault(); found.action(event); }
  });

  // -- choosing an item of the page: sessions of a list, turns of a reader

  let chosen = null;
  const items = () => all("main li.session, #pages .turn[id], .pair");
  const choose = (item) => {
    if (!item) return;
    if (chosen) chosen.classList.remove("chosen");
    chosen = item;
    item.classList.add("chosen");
    const link = one("a", item);
    if (link) link.focus({ preventScroll: true });
    item.scrollIntoView({ block: item.matches(".turn, .pair") ? "start" : "nearest" });
    item.dispatchEvent(new CustomEvent("clew-chosen", { bubbles: true }));
  };
  const position = () => {
    if (chosen && chosen.isConnected) return items().indexOf(chosen);
    const target = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    return target ? items().indexOf(target) : -1;
  };
  const step = (by) => {
    const list = items();
    if (list.length) choose(list[Math.min(list.length - 1, Math.max(0, position() + by))]);
  };

  key("?", "show these keys", help);
  key("/", "search", () => { const field = one("input[type=search]"); if (field) { field.focus(); field.select(); } else location.assign("/search"); });
  key("t", "light or dark", switchTheme);
  key("j", "next", () => step(1));
  key("k", "previous", () => step(-1));
  key("g g", "first", () => choose(items()[0]));
  key("G", "last", () => choose(items().at(-1)));
  all("#theme, #keys, [data-copies]").forEach((each) => { each.hidden = false; });
  one("#theme")?.addEventListener("click", switchTheme);
  one("#keys")?.addEventListener("click", help);
  return { one, all, toast, banner, copy, post, showTheme, key, keys, choose, step, items, chosen: () => chosen };
})();
