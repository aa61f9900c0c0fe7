"use strict";
// Loaded before the first paint, so that a stored theme does not flash.
{
  const stored = localStorage.getItem("clew-theme");
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
}
