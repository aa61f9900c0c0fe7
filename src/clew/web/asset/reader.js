"use strict";
// The reader: pages are put below each other as they come into sight, and what is written meanwhile is put in.
(() => {
  const main = clew.one("#content");
  const pages = clew.one("#pages");
  const MOST = 12;  // pages in the document at a time
  let wanted = null;  // the turn that the address names, until somebody scrolls

  const read = async (address) => {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(answer.statusText);
    const made = document.createElement("template");
    made.innerHTML = await answer.text();
    return made.content.firstElementChild;
  };

  // -- further pages

  const sight = new IntersectionObserver((seen) => {
    seen.filter((each) => each.isIntersecting).forEach((each) => more(each.target));
  }, { rootMargin: "1200px 0px" });
  const watch = () => {
    sight.disconnect();
    const link = clew.one(".page:last-child > .later a", pages);
    if (link) sight.observe(link);
    const current = new Set(clew.all(".turn[id]", pages).map((each) => each.id));
    clew.all("#outline a").forEach((each) => each.classList.toggle("here", current.has("turn-" + each.dataset.turn)));
  };
  const more = async (link) => {
    if (link.dataset.asked) return;
    link.dataset.asked = "1";
    const isEarlier = Boolean(link.closest(".earlier"));
    try {
      const page = await read(link.dataset.part);
      const height = document.documentElement.scrollHeight;
      if (isEarlier) {
        pages.prepend(page);
        scrollBy({ top: document.documentElement.scrollHeight - height });
        if (pages.children.length > MOST) pages.lastElementChild.remove();
      } else {
        pages.append(page);
        if (pages.children.length > MOST) {
          const gone = pages.firstElementChild.offsetHeight;
          pages.firstElementChild.remove();
          scrollBy({ top: -gone });
        }
      }
    } catch (failed) {
      clew.toast("The page cannot be read.");
    }
    delete link.dataset.asked;
    if (wanted) wanted.scrollIntoView();
    watch();
  };
  pages.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-part]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); more(link); }
  });

  // -- the outline

  const go = (number) => {
    const turn = document.getElementById("turn-" + number);
    if (!turn) return false;
    history.pushState(null, "", "#turn-" + number);
    clew.choose(turn);
    return true;
  };
  clew.one("#outline").addEventListener("click", (event) => {
    const link = event.target.closest("a[data-turn]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && go(link.dataset.turn)) event.preventDefault();
  });
  const mark = new IntersectionObserver((seen) => {
    seen.filter((each) => each.isIntersecting).forEach((each) => {
      clew.all("#outline a[aria-current]").forEach((link) => link.removeAttribute("aria-current"));
      const link = clew.one('#outline a[data-turn="' + each.target.id.slice(5) + '"]');
      if (link) link.setAttribute("aria-current", "true");
    });
  }, { rootMargin: "-10% 0px -80% 0px" });
  const marked = new WeakSet();
  const follow = () => clew.all(".turn[id]", pages).forEach((turn) => {
    if (!marked.has(turn)) { marked.add(turn); mark.observe(turn); }
  });
  new MutationObserver(() => { follow(); watch(); }).observe(pages, { childList: true });

  const named = /^#turn-(\d+)$/.exec(location.hash);
  if (named) {
    wanted = document.getElementById("turn-" + named[1]);
    if (wanted) clew.choose(wanted);
    else location.replace(main.dataset.base + "/turn/" + named[1] + main.dataset.query);
  }
  ["wheel", "keydown", "pointerdown", "touchmove"].forEach((kind) => {
    addEventListener(kind, () => { wanted = null; }, { passive: true });
  });

  // -- what is new

  let state = "";
  let isBusy = false;
  let isStale = false;
  const renew = async () => {
    if (isBusy) { isStale = true; return; }
    isBusy = true;
    try {
      do {
        isStale = false;
        const last = pages.lastElementChild;
        const isEnd = !clew.one(":scope > .later", last);
        const fresh = await read(main.dataset.base + "/page/" + last.dataset.page + main.dataset.query);
        const isOther = ["first", "branches"].some((name) => fresh.dataset[name] !== last.dataset[name]);
        if (isOther) { location.reload(); return; }  // the conversation went back
        const grew = fresh.dataset.turns !== last.dataset.turns;
        if (isEnd && fresh.innerHTML !== last.innerHTML) {
          const isBelow = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
          const opened = new Map(clew.all("details[id]", last).map((each) => [each.id, each.open]));
          clew.all("details[id]", fresh).forEach((each) => { if (opened.has(each.id)) each.open = opened.get(each.id); });
          last.replaceWith(fresh);
          if (isBelow) scrollTo({ top: document.documentElement.scrollHeight });
        }
        if (grew) {
          const answer = await fetch(main.dataset.base + "/outline" + main.dataset.query);
          if (answer.ok) clew.one("#outline").innerHTML = await answer.text();
          clew.toast("Turn " + fresh.dataset.turns + " was begun.");
        }
      } while (isStale);
    } catch (failed) {
      clew.toast("What is new cannot be read.");
    } finally {
      isBusy = false;
    }
  };

  clew.follow("session:" + main.dataset.base.split("/")[2], (now) => {
    if (now.gone) { clew.banner("The file of this session was deleted. Reload this page to see what is left of it."); return; }
    clew.one("#live").hidden = false;
    if (state && state !== now.state) renew();
    state = now.state;
  });

  const form = clew.one("form.wish");
  form.addEventListener("change", () => {
    const wish = new URLSearchParams(Array.from(new FormData(form)).filter(([name, value]) => value && value !== "calls"));
    location.assign(main.dataset.base + (wish.size ? "?" + wish : ""));
  });
  form.querySelector("button").hidden = true;
  const chosenCalls = () => (clew.chosen() ? clew.all("details.call", clew.chosen()) : []);
  clew.key("o", "open or close the calls of the turn", () => { const calls = chosenCalls(); const open = calls.some((each) => !each.open); calls.forEach((each) => { each.open = open; }); });
  clew.key("c", "copy the turn as Markdown", () => { const link = clew.chosen() ? clew.one("[data-copy]", clew.chosen()) : null; if (link) link.click(); });
  clew.key("b", "choose a branch", () => { const field = clew.one("#branch"); if (field) field.focus(); });
  clew.key("u", "back to the list", () => { location.assign("/"); });
  follow();
  watch();
})();
