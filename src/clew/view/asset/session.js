"use strict";
// What pages of turns do by themselves, in the web app and in exported files: find, fold, filter, follow, copy, enlarge.
// Elements with these attributes are wired: [data-find] (a field), [data-found] (its count), [data-step="1"|"-1"],
// [data-fold="open"|"close"], select[data-only], button[data-split]. An outline is a list of links a[data-turn].
const session = (() => {
  const one = (selector, from) => (from || document).querySelector(selector);
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const root = () => one("#pages") || one("main");
  const MOST = 5000;  // marks in a document

  // -- find: marks may span elements, as the colours of code do; closed calls say how many matches they contain

  let marks = [];
  let current = -1;
  const unmark = () => {
    all("mark", root()).forEach((mark) => { const parent = mark.parentNode; mark.replaceWith(...mark.childNodes); parent.normalize(); });
    all("summary[data-hits]", root()).forEach((summary) => delete summary.dataset.hits);
    all("a[data-turn][data-hits]").forEach((link) => delete link.dataset.hits);
    marks = [];
    current = -1;
  };
  const markBlock = (block, wanted) => {
    const nodes = [];
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT, (node) =>
      node.parentElement.closest(BLOCKS) === block ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT);
    while (walker.nextNode()) nodes.push(walker.currentNode);
    const text = nodes.map((node) => node.data).join("").toLowerCase();
    if (text.length !== nodes.reduce((size, node) => size + node.length, 0)) return;  // a letter that grows in lower case
    const starts = [];
    for (let at = text.indexOf(wanted); at >= 0 && marks.length + starts.length < MOST; at = text.indexOf(wanted, at + wanted.length)) starts.push(at);
    const found = starts.map(() => []);
    let start = 0;
    nodes.forEach((node) => {
      const size = node.length;
      starts.map((at, index) => [Math.max(at, start) - start, Math.min(at + wanted.length, start + size) - start, index])
        .filter(([first, last]) => first < last).reverse()
        .forEach(([first, last, index]) => {
          const part = node.splitText(first);
          part.splitText(last - first);
          const mark = document.createElement("mark");
          part.replaceWith(mark);
          mark.append(part);
          found[index].push(mark);
        });
      start += size;
    });
    marks.push(...found.filter((parts) => parts.length));
  };
  const BLOCKS = "p, pre, summary, li, td, th, h3, h4, h5, h6, .said, .todo, .note, .error, .decision, .compaction";
  // Mark a text everywhere, or also in a part that was added; returns the number of matches.
  const mark = (text, added) => {
    const last = added ? marks[current] : null;
    if (!added) unmark();
    const wanted = text.trim().toLowerCase();
    if (!wanted) return 0;
    marks = marks.filter(([first]) => first.isConnected);
    const start = marks.length;
    const skipped = ".turn > header, .links, .own";
    all(BLOCKS, added || root()).filter((block) => !block.closest(skipped) && block.textContent.toLowerCase().includes(wanted))
      .forEach((block) => markBlock(block, wanted));
    marks.slice(start).forEach(([first]) => {
      for (let holder = first.closest("details"); holder; holder = holder.parentElement.closest("details")) {
        const summary = one(":scope > summary", holder);
        if (!summary.contains(first)) summary.dataset.hits = 1 + Number(summary.dataset.hits || 0);
      }
      const turn = first.closest(".turn");
      const link = turn && one('a[data-turn="' + turnNumber(turn) + '"]');
      if (link) link.dataset.hits = 1 + Number(link.dataset.hits || 0);
    });
    marks.sort(([first], [second]) => (first.compareDocumentPosition(second) & 4 ? -1 : 1));
    current = last ? marks.indexOf(last) : -1;
    return marks.length;
  };
  const reveal = (element) => {
    for (let holder = element.closest("details"); holder; holder = holder.parentElement.closest("details")) {
      if (!one(":scope > summary", holder)?.contains(element)) holder.open = true;
    }
  };
  // Go to the next mark, or to the first one after an element. Returns false at either end.
  const step = (by, after) => (after
    ? to(marks.findIndex(([first]) => after.contains(first) || after.compareDocumentPosition(first) & 4)) : to(current + by));
  const to = (next) => {
    if (next < 0 || next >= marks.length) return false;
    all("mark.current", root()).forEach((each) => each.classList.remove("current"));
    current = next;
    marks[current].forEach((each) => each.classList.add("current"));
    reveal(marks[current][0]);
    marks[current][0].scrollIntoView({ block: "center" });
    return true;
  };

  // -- fold and filter

  const fold = (isOpen) => all("details:not(.menu)", root()).forEach((each) => { each.open = isOpen; });
  const EDITS = ["Edit", "MultiEdit", "Write", "NotebookEdit"].map((tool) => '.call[data-tool="' + tool + '"]').join(", ");
  const KINDS = { errors: ".call.failed, .error", edits: EDITS, agents: ".call:has(> .agent)", thinking: ".thinking", decisions: ".decision" };
  const filter = (kind) => {
    const wanted = kind.startsWith("tool:") ? '.call[data-tool="' + CSS.escape(kind.slice(5)) + '"]' : KINDS[kind];
    all(".out").forEach((each) => each.classList.remove("out"));
    if (!wanted) return;
    all(".turn", root()).forEach((turn) => {
      const shown = new Set(all(wanted, turn));
      shown.forEach((each) => { for (let at = each; at !== turn; at = at.parentElement) shown.add(at); });
      all(":scope > :not(header, .prompt), .calls > .call", turn).forEach((each) => each.classList.toggle("out", !shown.has(each)));
      turn.classList.toggle("out", !shown.size);
      const link = one('a[data-turn="' + turnNumber(turn) + '"]');
      if (link) link.closest("li").classList.toggle("out", !shown.size);
    });
  };
  const split = () => { document.body.classList.toggle("split"); };

  // -- follow: the outline shows where the reader is

  const turnNumber = (turn) => (turn.id || "").replace(/^turn-/, "");  // turns of other branches have other ids
  let place = "";
  let moved = () => {};
  let isHeld = false;  // a turn that was chosen stays the current one until the reader scrolls
  const hold = (turn) => { isHeld = true; show(turn); };
  ["wheel", "touchmove", "pointerdown"].forEach((kind) => addEventListener(kind, () => { isHeld = false; }, { passive: true }));
  addEventListener("keydown", (event) => { if (/^(Page|Arrow|Home|End| )/.test(event.key)) isHeld = false; });
  const show = (turn) => {
    const number = turnNumber(turn);
    if (!number || number === place) return;
    place = number;
    all("a[data-turn][aria-current]").forEach((link) => link.removeAttribute("aria-current"));
    const link = one('a[data-turn="' + number + '"]');
    if (link) {
      link.setAttribute("aria-current", "true");
      const holder = link.closest(".side, .outline");
      const box = link.getBoundingClientRect();
      const frame = holder ? holder.getBoundingClientRect() : box;
      if (holder && (box.top < frame.top + 60 || box.bottom > frame.bottom - 60)) holder.scrollTop += box.top - frame.top - frame.height / 3;
    }
    moved(number, turn);
  };
  const sight = new IntersectionObserver((seen) => {
    if (!isHeld) seen.filter((each) => each.isIntersecting).forEach((each) => show(each.target));
  }, { rootMargin: "-12% 0px -80% 0px" });
  const seen = new WeakSet();
  const observe = () => all(".turn[id]", root()).forEach((turn) => { if (!seen.has(turn)) { seen.add(turn); sight.observe(turn); } });

  // -- copy buttons on code, and pictures that enlarge

  const copyButtons = () => all(".code > pre:only-of-type, .reply > pre, pre.input", root()).forEach((pre) => {
    if (pre.dataset.copy) return;
    pre.dataset.copy = "1";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(pre.innerText); button.textContent = "Copied ✓"; }
      catch (refused) { button.textContent = "Not allowed"; }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    const holder = pre.closest(".code") || Object.assign(document.createElement("div"), { className: "code" });
    if (!pre.closest(".code")) { pre.replaceWith(holder); holder.append(pre); }
    holder.append(button);
  });
  const pictures = () => all(".picture img", root()).forEach((image) => { image.tabIndex = 0; image.setAttribute("role", "button"); });
  const enlarge = (image) => {
    const dialog = Object.assign(document.createElement("dialog"), { className: "lightbox" });
    dialog.setAttribute("aria-label", image.alt);
    dialog.append(Object.assign(document.createElement("img"), { src: image.src, alt: image.alt }));
    dialog.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  };
  document.addEventListener("click", (event) => { const image = event.target.closest(".picture img"); if (image) enlarge(image); });
  document.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.target.matches(".picture img")) enlarge(event.target); });

  // -- printing opens everything

  let closed = [];
  addEventListener("beforeprint", () => { closed = all("details:not([open], .menu)", root()); closed.forEach((each) => { each.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((each) => { each.open = false; }));

  // -- wiring

  const count = () => (marks.length ? (current >= 0 ? current + 1 + " of " : "") + marks.length : "none");
  const field = one("[data-find]");
  const tell = () => { const output = one("[data-found]"); if (output) output.textContent = field.value.trim() ? count() : ""; };
  if (field) {
    field.addEventListener("input", () => { mark(field.value); tell(); });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); step(event.shiftKey ? -1 : 1) || to(event.shiftKey ? marks.length - 1 : 0); tell(); }
      if (event.key === "Escape") { field.value = ""; unmark(); tell(); }
    });
    all("[data-step]").forEach((button) => button.addEventListener("click", () => { step(Number(button.dataset.step)); tell(); }));
  }
  all("[data-fold]").forEach((button) => button.addEventListener("click", () => fold(button.dataset.fold === "open")));
  all("button[data-split]").forEach((button) => button.addEventListener("click", split));
  one("select[data-only]")?.addEventListener("change", (event) => filter(event.target.value));
  const refresh = () => { observe(); copyButtons(); pictures(); };
  refresh();
  return { mark, unmark, step, to, reveal, hold, fold, filter, split, refresh, turnNumber, marks: () => marks.length, current: () => current, onMove: (action) => { moved = action; } };
})();
