"use strict";
(function () {
  var root = document.documentElement;
  var tools = document.querySelector(".tools");
  function all(isOpen) {
    document.querySelectorAll("main details").forEach(function (each) { each.open = isOpen; });
  }
  function theme(name) {
    if (name === "light" || name === "dark") root.dataset.theme = name;
  }
  try { theme(localStorage.getItem("clew-theme")); } catch (refused) { /* a page from a file may keep nothing */ }
  if (tools) tools.hidden = false;
  document.addEventListener("click", function (event) {
    var what = event.target instanceof HTMLElement ? event.target.dataset.does : "";
    if (what === "open" || what === "close") all(what === "open");
    if (what === "theme") {
      var isDark = getComputedStyle(root).colorScheme === "dark" ||
        (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
      theme(isDark ? "light" : "dark");
      try { localStorage.setItem("clew-theme", root.dataset.theme); } catch (refused) { /* as above */ }
    }
  });
  var closed = [];
  addEventListener("beforeprint", function () {
    closed = Array.from(document.querySelectorAll("main details:not([open])"));
    closed.forEach(function (each) { each.open = true; });
  });
  addEventListener("afterprint", function () { closed.forEach(function (each) { each.open = false; }); });
})();
