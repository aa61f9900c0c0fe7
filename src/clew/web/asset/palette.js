"use strict";
// The palette (Ctrl-K): sessions, projects, saved searches, pages, and what the keys of this page do.
(() => {
  let dialog = null, field = null, list = null, request = null, options = [], at = 0;
  const element = (name, values, ...children) => { const made = Object.assign(document.createElement(name), values); made.append(...children); return made; };

  const build = () => {
    field = element("input", { type: "text", placeholder: "Session, project, page, action …", autocomplete: "off", spellcheck: false });
    list = element("div", { id: "palette-list", role: "listbox" });
    list.setAttribute("aria-label", "Results");
    dialog = element("dialog", { id: "palette" }, field, list);
    dialog.setAttribute("aria-label", "Go to");
    const aria = { role: "combobox", "aria-label": "Go to", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list" };
    Object.entries(aria).forEach(([name, value]) => field.setAttribute(name, value));
    field.addEventListener("input", fill);
    field.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) { event.preventDefault(); select((at + step + options.length) % Math.max(1, options.length)); }
      if (event.key === "Enter") { event.preventDefault(); options[at]?.click(); }
      if (event.key === "Escape") { event.stopPropagation(); dialog.close(); }
    });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    document.body.append(dialog);
  };

  const select = (number) => {
    options[at]?.setAttribute("aria-selected", "false");
    at = number;
    options[at]?.setAttribute("aria-selected", "true");
    options[at]?.scrollIntoView({ block: "nearest" });
    if (options[at]) field.setAttribute("aria-activedescendant", options[at].id); else field.removeAttribute("aria-activedescendant");
  };
  const option = (item, choose) => {
    const made = element("div", { id: "palette-" + options.length, role: "option" });
    if (item.hue) made.append(element("span", { className: "dot hue-" + Number(item.hue) }));
    made.append(element("span", { className: "label", textContent: item.label }));
    if (item.note) made.append(element("span", { className: "note", textContent: item.note }));
    made.setAttribute("aria-selected", "false");
    made.addEventListener("click", (event) => { dialog.close(); choose(event); });
    made.addEventListener("mousemove", () => { if (options[at] !== made) select(options.indexOf(made)); });
    options.push(made);
    return made;
  };
  const group = (label, items) => {
    const made = element("div", { role: "group" }, element("span", { textContent: label }), ...items);
    made.setAttribute("aria-label", label);
    return made;
  };
  const actions = (words) => Array.from(clew.keys)
    .filter(([name, { label }]) => name !== "Ctrl-k" && words.every((word) => label.toLowerCase().includes(word)))
    .map(([name, { label, action }]) => option({ label: label[0].toUpperCase() + label.slice(1), note: name }, action));

  const fill = async () => {
    request?.abort();
    request = new AbortController();
    const text = field.value.trim(), words = text.toLowerCase().split(/\s+/).filter(Boolean);
    let groups = [];
    try {
      const answer = await fetch("/palette?" + new URLSearchParams({ q: text }), { headers: { Accept: "application/json" }, signal: request.signal });
      groups = answer.ok ? (await answer.json()).groups : [];
    } catch (failed) { if (failed.name === "AbortError") return; }
    options = [];
    const made = groups.filter((each) => each.label !== "Search").map(({ label, items }) => group(label, items.map((item) => option(item, (event) => {
      if (event.ctrlKey || event.metaKey) open(item.href); else location.assign(item.href);
    }))));
    const own = actions(words);
    if (own.length) made.push(group("This page", own));
    for (const { label, items } of groups) if (label === "Search") made.push(group(label, items.map((item) => option(item, () => location.assign(item.href)))));
    list.replaceChildren(...made.length ? made : [element("p", { className: "quiet", textContent: "Nothing matches." })]);
    at = 0;
    select(0);
  };

  clew.key("Ctrl-k", "go to a session, project or page", () => {
    if (!dialog) build();
    field.value = "";
    dialog.showModal();
    field.focus();
    fill();
  });
})();
