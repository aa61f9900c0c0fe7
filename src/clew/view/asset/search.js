"use strict";
(function () {
  var index = JSON.parse(document.getElementById("words").textContent);
  var words = Object.keys(index);
  var field = document.querySelector("input[type=search]");
  var items = Array.from(document.querySelectorAll(".sessions > li"));
  var said = document.getElementById("found");
  function having(term) {
    var found = new Set();
    words.forEach(function (word) {
      if (word.includes(term)) index[word].forEach(function (number) { found.add(number); });
    });
    items.forEach(function (item, number) {
      if (item.textContent.toLowerCase().includes(term)) found.add(number);
    });
    return found;
  }
  function search() {
    var terms = field.value.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
    var sets = terms.map(having);
    var shown = 0;
    items.forEach(function (item, number) {
      item.hidden = !sets.every(function (set) { return set.has(number); });
      shown += item.hidden ? 0 : 1;
    });
    said.textContent = terms.length ? shown + " of " + items.length + " sessions" : "";
  }
  field.parentElement.hidden = false;
  field.addEventListener("input", search);
  search();
})();
