"use strict";
// Put content into its place as soon as the server has it: `data-fill` is its address.
(() => {
  const place = document.querySelector("[data-fill]");
  const fill = async () => {
    try {
      const answer = await fetch(place.dataset.fill);
      if (answer.status === 202) {
        const percent = document.querySelector("#reading span");
        if (percent) percent.textContent = await answer.text();
        return setTimeout(fill, 300);
      }
      if (!answer.ok) throw new Error(answer.statusText);
      place.innerHTML = await answer.text();
      place.removeAttribute("aria-busy");
      clew.drawCharts(place);
    } catch (failed) { clew.toast("The numbers could not be read. Reload the page.", "bad"); }
  };
  if (place) fill();
})();
