"use strict";
// Settings are saved and applied as they are changed.
(() => {
  const form = clew.one("#settings"), root = document.documentElement;
  clew.one("button", form).hidden = true;
  form.addEventListener("change", async ({ target: { name, value } }) => {
    if (name === "theme") clew.showTheme(value);
    else if (name in root.dataset) root.dataset[name] = value;
    try {
      await clew.post("/settings", { [name]: value });
      clew.toast("Saved.", "good");
    } catch (failed) { clew.toast("The server did not answer, so this is not saved.", "bad"); }
  });
})();
