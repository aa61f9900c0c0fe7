"use strict";
// Values of charts by pointer and by keyboard: one tab stop for each chart, arrows move within it.
(() => {
  const improve = (figure) => {
    const tip = Object.assign(document.createElement("div"), { className: "chart-tip", hidden: true });
    tip.setAttribute("aria-hidden", "true");
    figure.append(tip);
    for (const title of figure.querySelectorAll("svg :is(a, g) > title")) {
      title.parentNode.dataset.tip = title.textContent;
      title.remove();
    }
    const show = (shape) => {
      tip.hidden = !shape;
      if (!shape) return;
      tip.textContent = shape.dataset.tip.replace(/: /, "\n").replace(/ \((.*)\)$/, "\n$1").replaceAll(", ", "\n");
      const frame = figure.getBoundingClientRect();
      const last = shape.lastElementChild.getBoundingClientRect();
      const left = last.left + last.width / 2 - frame.left - tip.offsetWidth / 2;
      tip.style.left = `${Math.max(0, Math.min(left, frame.width - tip.offsetWidth))}px`;
      const above = last.top - frame.top - tip.offsetHeight - 6;
      tip.style.top = `${above < 0 ? last.bottom - frame.top + 6 : above}px`;
    };
    const shapeAt = (target) => target.closest("[data-tip]");
    figure.addEventListener("pointerover", (event) => show(shapeAt(event.target)));
    figure.addEventListener("pointerleave", () => show(null));
    figure.addEventListener("focusin", (event) => show(shapeAt(event.target)));
    figure.addEventListener("focusout", () => show(null));
    figure.addEventListener("keydown", (event) => {
      const drawing = event.target.closest("svg");
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -1e6, End: 1e6 }[event.key];
      if (!drawing || !step || event.ctrlKey || event.metaKey || event.altKey) return;
      const links = [...drawing.querySelectorAll("a")];
      const next = links[Math.max(0, Math.min(links.length - 1, links.indexOf(event.target.closest("a")) + step))];
      for (const link of links) link.setAttribute("tabindex", link === next ? 0 : -1);
      next.focus();
      event.preventDefault();
      event.stopPropagation();
    });
  };
  const drawCharts = (place) => place.querySelectorAll(".plot").forEach(improve);
  if (typeof clew !== "undefined") clew.drawCharts = drawCharts;
  drawCharts(document);
})();
