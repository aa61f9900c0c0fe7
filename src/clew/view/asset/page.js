"use strict";
// What an exported page adds to session.js: the theme, keys, and filters for the tools that the session used.
(function () {
  var root = document.documentElement;
  function one(selector) { return document.querySelector(selector); }
  function all(selector) { return Array.from(document.querySelectorAll(selector)); }
  function setTheme(name) { if (name === "light" || name === "dark") root.dataset.theme = name; }
  function switchTheme() {
    var isDark = (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    setTheme(isDark ? "light" : "dark");
    try { localStorage.setItem("clew-theme", root.dataset.theme); } catch (refused) { /* a page from a file may keep nothing */ }
  }
  try { setTheme(localStorage.getItem("clew-theme")); } catch (refused) { /* as above */ }
  all(".tools").forEach(function (each) { each.hidden = false; });
  var only = one("select[data-only]");
  if (only) {
    new Set(all(".call[data-tool]").map(function (each) { return each.dataset.tool; })).forEach(function (tool) {
      only.append(new Option(tool, "tool:" + tool));
    });
  }
  function click(selector) { var button = one(selector); if (button) button.click(); }
  var keys = {
    "/": function () { var field = one("input[type=search]"); if (field) field.focus(); },
    n: function () { click('[data-step="1"]'); },
    N: function () { click('[data-step="-1"]'); },
    o: function () { click('[data-fold="open"]'); },
    O: function () { click('[data-fold="close"]'); },
    t: switchTheme
  };
  document.addEventListener("click", function (event) {
    if (event.target instanceof HTMLElement && event.target.dataset.does === "theme") switchTheme();
  });
  document.addEventListener("keydown", function (event) {
    var isTyping = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
})();
