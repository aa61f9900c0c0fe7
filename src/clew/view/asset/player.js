"use strict";
// Play the frames of a recording: prompts are typed, the bar has a chapter for each turn, and keys do what buttons do.
(function () {
  var frames = Array.from(document.querySelectorAll(".frame"));
  var controls = document.querySelector(".controls");
  if (!controls || !frames.length) return;
  var play = controls.querySelector("[data-does=play]");
  var range = controls.querySelector("input");
  var clockText = controls.querySelector(".clock");
  var chapterText = controls.querySelector(".chapter");
  var bar = controls.querySelector(".chapters");
  var speed = controls.querySelector("select");
  var isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  var TYPING = 1.6;  // seconds that a long prompt takes, at most
  var LETTERS = 45;  // per second
  var times = frames.map(function (each) { return Number(each.dataset.at); });
  var sections = Array.from(document.querySelectorAll(".player > .turn"));
  var turns = frames.map(function (each) { return Number(each.parentElement.dataset.turn); });
  var last = turns[turns.length - 1], end = times[times.length - 1];
  var place = 0, clock = 0, before = 0, isPlaying = false, typing = null;

  // -- chapters: a part of the bar for each turn, as wide as the turn is long

  function start(index) { return frames.indexOf(sections[index].querySelector(".frame")); }
  var chapters = sections.map(function (section, index) {
    var from = times[start(index)], to = index + 1 < sections.length ? times[start(index + 1)] : end;
    var part = document.createElement("span"), fill = document.createElement("i");
    var said = section.querySelector(".said");
    part.title = "Turn " + section.dataset.turn + (said ? ": " + said.textContent.trim().slice(0, 80) : "");
    part.style.flexGrow = String(Math.max(to - from, end / 400, 0.01));
    part.append(fill);
    bar.append(part);
    return { from: from, to: to, fill: fill, text: part.title };
  });
  function draw() {
    chapters.forEach(function (each) {
      var share = each.to > each.from ? (clock - each.from) / (each.to - each.from) : clock >= each.from && place ? 1 : 0;
      each.fill.style.width = 100 * Math.max(0, Math.min(1, share)) + "%";
    });
    range.value = String(clock);
    clockText.textContent = minutes(clock) + " / " + minutes(end);
  }
  function minutes(seconds) {
    var whole = Math.floor(seconds);
    return Math.floor(whole / 60) + ":" + String(whole % 60).padStart(2, "0");
  }

  // -- typing: the text of a prompt appears letter by letter

  function finish() {
    if (!typing) return;
    typing.nodes.forEach(function (node, index) { node.data = typing.texts[index]; });
    typing.frame.classList.remove("is-typing");
    typing = null;
  }
  function type(frame) {
    var walker = document.createTreeWalker(frame.querySelector(".prompt"), NodeFilter.SHOW_TEXT);
    var nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    var texts = nodes.map(function (node) { return node.data; });
    var length = texts.join("").length;
    typing = { frame: frame, nodes: nodes, texts: texts, length: length, done: 0, rate: Math.max(LETTERS, length / TYPING) };
    nodes.forEach(function (node) { node.data = ""; });
    frame.classList.add("is-typing");
  }
  function typeMore(seconds) {
    typing.done += seconds * typing.rate;
    if (typing.done >= typing.length) { finish(); return; }
    var left = Math.floor(typing.done);
    typing.nodes.forEach(function (node, index) {
      node.data = typing.texts[index].slice(0, Math.max(0, left));
      left -= typing.texts[index].length;
    });
  }

  // -- showing

  function show(next, follows) {
    finish();
    var low = Math.min(place, next), high = Math.max(place, next);
    for (var i = low; i < high; i += 1) frames[i].hidden = i >= next;
    place = next;
    sections.forEach(function (each) { each.hidden = !each.querySelector(".frame:not([hidden])"); });
    var turn = place ? turns[place - 1] : 0;
    range.setAttribute("aria-valuetext", minutes(clock) + ", turn " + turn + " of " + last);
    var here = sections.findIndex(function (each) { return Number(each.dataset.turn) === turn; });
    chapterText.textContent = here < 0 ? "" : chapters[here].text;
    draw();
    if (follows && place) frames[place - 1].scrollIntoView({ block: "nearest" });
  }
  function go(next) {
    next = Math.max(1, Math.min(frames.length, next));
    clock = times[next - 1];
    show(next, true);
  }
  function set(value) {
    isPlaying = value;
    play.textContent = value ? "Pause" : "Play";
    play.setAttribute("aria-pressed", String(value));
    if (!value) { finish(); return; }
    if (place >= frames.length) go(1);
    before = performance.now();
    requestAnimationFrame(tick);
  }
  function tick(now) {
    if (!isPlaying) return;
    var passed = Math.max(0, now - before) / 1000 * Number(speed.value);
    before = now;
    if (typing) typeMore(passed); else clock += passed;
    var next = place;
    while (!typing && next < frames.length && times[next] <= clock) {
      next += 1;
      if (frames[next - 1].matches(".typed") && !isCalm) break;
    }
    if (next !== place) {
      show(next, true);
      if (frames[place - 1].matches(".typed") && !isCalm) type(frames[place - 1]);
    }
    draw();
    if (place >= frames.length && !typing) set(false); else requestAnimationFrame(tick);
  }

  // -- controls

  function first(turn) {
    var found = turns.findIndex(function (each) { return each >= turn; });
    return found < 0 ? frames.length : found + 1;
  }
  function faster(by) {
    speed.selectedIndex = Math.max(0, Math.min(speed.options.length - 1, speed.selectedIndex + by));
  }
  var does = {
    play: function () { set(!isPlaying); },
    step: function () { set(false); go(place + 1); },
    back: function () { set(false); go(place - 1); },
    before: function () { var here = turns[place - 1]; go(first(place === first(here) ? here - 1 : here)); },
    after: function () { go(first(turns[place - 1] + 1)); },
    first: function () { go(1); },
    last: function () { set(false); go(frames.length); },
    faster: function () { faster(1); },
    slower: function () { faster(-1); }
  };
  var keys = {
    " ": "play", ".": "step", ArrowRight: "step", ",": "back", ArrowLeft: "back", "[": "before", "]": "after",
    "+": "faster", "=": "faster", "-": "slower", Home: "first", End: "last"
  };
  controls.addEventListener("click", function (event) {
    var what = event.target instanceof HTMLElement ? event.target.dataset.does : "";
    if (what && does[what]) does[what]();
  });
  range.max = String(Math.ceil(10 * end) / 10 || 0.1);
  range.addEventListener("input", function () {
    set(false);
    clock = Number(range.value);
    show(Math.max(1, times.filter(function (each) { return each <= clock; }).length), true);
  });
  document.addEventListener("keydown", function (event) {
    var own = event.target instanceof HTMLElement && /^(INPUT|SELECT|BUTTON|SUMMARY)$/.test(event.target.tagName);
    if (!own && !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key]) {
      event.preventDefault();
      does[keys[event.key]]();
    }
  });
  addEventListener("beforeprint", function () { frames.concat(sections).forEach(function (each) { each.hidden = false; }); });
  addEventListener("afterprint", function () { var here = place; place = frames.length; show(here, false); });
  frames.forEach(function (each) { each.hidden = true; });
  document.body.classList.add("plays");
  controls.hidden = false;
  show(first(1), false);
  clock = times[place - 1];
  draw();
})();
