"use strict";
(function () {
  var frames = Array.from(document.querySelectorAll(".frame"));
  var controls = document.querySelector(".controls");
  if (!controls || !frames.length) return;
  var play = controls.querySelector("[data-does=play]");
  var range = controls.querySelector("input");
  var told = controls.querySelector("output");
  var speed = controls.querySelector("select");
  var times = frames.map(function (each) { return Number(each.dataset.at); });
  var turns = frames.map(function (each) { return Number(each.dataset.turn); });
  var place = 0, clock = 0, last = 0, isPlaying = false;
  function show(next, follows) {
    var low = Math.min(place, next), high = Math.max(place, next);
    for (var i = low; i < high; i += 1) frames[i].hidden = i >= next;
    place = next;
    range.value = String(place);
    told.textContent = (place ? turns[place - 1] : 0) + "/" + turns[turns.length - 1];
    if (follows && place) frames[place - 1].scrollIntoView({ block: "nearest" });
  }
  function go(next) {
    next = Math.max(0, Math.min(frames.length, next));
    clock = next ? times[next - 1] : 0;
    show(next, true);
  }
  function set(value) {
    isPlaying = value;
    play.textContent = value ? "Pause" : "Play";
    play.setAttribute("aria-pressed", String(value));
    if (value) {
      if (place >= frames.length) go(0);
      last = performance.now();
      requestAnimationFrame(tick);
    }
  }
  function tick(now) {
    if (!isPlaying) return;
    clock += Math.max(0, now - last) / 1000 * Number(speed.value);
    last = now;
    var next = place;
    while (next < frames.length && times[next] <= clock) next += 1;
    if (next !== place) show(next, true);
    if (place >= frames.length) set(false); else requestAnimationFrame(tick);
  }
  function first(turn) {
    var found = turns.findIndex(function (each) { return each >= turn; });
    return found < 0 ? frames.length : found + 1;
  }
  var does = {
    play: function () { set(!isPlaying); },
    step: function () { set(false); go(place + 1); },
    before: function () {
      var here = place ? turns[place - 1] : 0;
      go(first(place === first(here) ? here - 1 : here));
    },
    after: function () { go(first((place ? turns[place - 1] : 0) + 1)); }
  };
  var keys = { " ": "play", ".": "step", "[": "before", "]": "after" };
  controls.addEventListener("click", function (event) {
    var what = event.target instanceof HTMLElement ? event.target.dataset.does : "";
    if (what && does[what]) does[what]();
  });
  range.max = String(frames.length);
  range.addEventListener("input", function () { set(false); go(Number(range.value)); });
  document.addEventListener("keydown", function (event) {
    var own = event.target instanceof HTMLElement && /^(INPUT|SELECT|BUTTON|SUMMARY)$/.test(event.target.tagName);
    if (!own && !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key]) {
      event.preventDefault();
      does[keys[event.key]]();
    }
  });
  frames.forEach(function (each) { each.hidden = true; });
  controls.hidden = false;
  show(0, false);
})();
