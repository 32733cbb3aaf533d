// Progressive enhancement: everything works without it. Keys: "/" search, "g" and a letter a screen.
"use strict";
(function () {
  var waiting = false;
  function typing(target) {
    return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
  }
  document.addEventListener("keydown", function (event) {
    if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) { return; }
    if (waiting) {
      waiting = false;
      var link = document.querySelector("a[data-letter='" + CSS.escape(event.key) + "']");
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    if (event.key === "/") {
      var search = document.querySelector("input[type=search]");
      if (search) { event.preventDefault(); search.focus(); }
    }
    waiting = event.key === "g";
  });
  // A form is sent once: a second click while the first is on its way changes nothing.
  document.addEventListener("submit", function (event) {
    if (event.target.dataset.sent) { event.preventDefault(); return; }
    event.target.dataset.sent = "1";
  });
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("form[data-sent]").forEach(function (form) { delete form.dataset.sent; });
  });
}());
