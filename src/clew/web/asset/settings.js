"use strict";
// Settings are saved as they are changed; the page is loaded again, because it is rendered with them.
(() => {
  const form = clew.one("#settings");
  clew.one("button", form).hidden = true;
  form.addEventListener("change", () => form.requestSubmit());
})();
