"use strict";
// Search the sessions of an exported folder by the words that their pages contain.
(function () {
  var index = JSON.parse(document.getElementById("words").textContent);
  var words = Object.keys(index);
  var field = document.querySelector("input[type=search]");
  var items = Array.from(document.querySelectorAll(".sessions > li"));
  var days = Array.from(document.querySelectorAll(".day"));
  var status = document.getElementById("found");
  var all = status.textContent;
  function having(term) {
    var found = new Set();
    words.forEach(function (word) {
      if (word.includes(term)) index[word].forEach(function (number) { found.add(number); });
    });
    items.forEach(function (item) {
      if (item.textContent.toLowerCase().includes(term)) found.add(Number(item.dataset.number));
    });
    return found;
  }
  function search() {
    var terms = field.value.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
    var sets = terms.map(having);
    var shown = 0;
    items.forEach(function (item) {
      item.hidden = !sets.every(function (set) { return set.has(Number(item.dataset.number)); });
      shown += item.hidden ? 0 : 1;
    });
    days.forEach(function (day) { day.hidden = !day.querySelector("li:not([hidden])"); });
    status.textContent = terms.length ? shown + " of " + all : all;
  }
  field.closest("p").hidden = false;
  field.addEventListener("input", search);
  search();
})();
