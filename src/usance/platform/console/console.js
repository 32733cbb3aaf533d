// Progressive enhancement: every page works without it.
// data-swap="id" on a link or a form: that element alone is exchanged, the address follows.
// data-poll="seconds" on an element: it is asked for again until the answer no longer says so.
// data-auto on a form: it is sent when a field of it changes. data-day on a slider: its day is shown.
"use strict";
(function () {
  var waiting = false, lost = document.getElementById("lost"), told = document.getElementById("told");

  function typing(target) {
    return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement ||
      (target instanceof HTMLInputElement && ["checkbox", "radio", "range", "submit"].indexOf(target.type) < 0);
  }
  function say(text) { if (told) { told.textContent = text; } }
  function found(isThere) {
    if (lost) { lost.hidden = isThere; }
  }
  function ask(url, options) {
    return fetch(url, Object.assign({ credentials: "same-origin" }, options)).then(function (answer) {
      found(true);
      return answer.text().then(function (text) {
        return { answer: answer, page: new DOMParser().parseFromString(text, "text/html") };
      });
    }, function (error) { found(false); watch(); throw error; });
  }
  // Ask whether a lost server is back, more rarely each time.
  var watching = false;
  function watch() {
    if (watching) { return; }
    watching = true;
    var pause = 1000;
    (function again() {
      setTimeout(function () {
        fetch("/healthz").then(function () { watching = false; found(true); }, function () {
          pause = Math.min(pause * 2, 15000);
          again();
        });
      }, pause);
    }());
  }
  function exchange(id, page) {
    var old = document.getElementById(id), fresh = page.getElementById(id);
    if (!old || !fresh) { return false; }
    var focused = document.activeElement, key = focused && old.contains(focused) ? focused.id || focused.name : "";
    var place = focused && key && "selectionStart" in focused ? focused.selectionStart : null;
    fresh = document.importNode(fresh, true);
    old.replaceWith(fresh);
    document.title = page.title || document.title;
    if (key) {
      var again = fresh.querySelector("#" + CSS.escape(key)) || fresh.querySelector("[name='" + CSS.escape(key) + "']");
      if (again) {
        again.focus({ preventScroll: true });
        if (place !== null && again.type === "text") { again.setSelectionRange(place, place); }
      }
    }
    begin(fresh);
    return true;
  }
  function swap(id, url, isNew) {
    return ask(url).then(function (got) {
      if (!got.answer.ok || !exchange(id, got.page)) { location.href = url; return; }
      if (isNew) { history.pushState({ swap: id }, "", url); }
    }, function () { return null; });
  }
  function query(form, submitter) {
    var values = new URLSearchParams(new FormData(form));
    if (submitter && submitter.name) { values.append(submitter.name, submitter.value); }
    return values;
  }
  function poll(element) {
    setTimeout(function () {
      if (!document.body.contains(element)) { return; }
      if (document.hidden || element.contains(document.activeElement)) { poll(element); return; }
      ask(location.href).then(function (got) {
        if (got.answer.redirected) { location.href = got.answer.url; return; }
        if (got.answer.ok) { exchange(element.id, got.page); }
      }, function () { poll(element); });
    }, 1000 * Number(element.dataset.poll));
  }
  function begin(part) {
    part.querySelectorAll("[data-poll]").forEach(poll);
    if (part.dataset && part.dataset.poll) { poll(part); }
    part.querySelectorAll("input[data-day]").forEach(function (slider) {
      slider.addEventListener("input", function () {
        var day = new Date(slider.dataset.day + "T00:00:00Z");
        day.setUTCDate(day.getUTCDate() + Number(slider.value));
        slider.form.querySelector("output").value = day.toISOString().slice(0, 10);
      });
    });
  }
  // A form is sent once; what was typed stays where the server cannot be reached.
  function send(form, submitter) {
    form.dataset.sent = "1";
    var to = (submitter && submitter.getAttribute("formaction")) || form.getAttribute("action") || location.href;
    ask(to, { method: "POST", body: query(form, submitter) }).then(function (got) {
      if (got.answer.redirected) { location.href = got.answer.url; return; }
      if (got.answer.url && got.answer.url !== location.href) { history.pushState({}, "", got.answer.url); }
      if (!exchange("content", got.page)) { location.href = got.answer.url; return; }
      var first = document.querySelector("#content [aria-invalid], #content [role=alert], #content [data-next]");
      if (first) { first.setAttribute("tabindex", first.tabIndex < 0 ? "-1" : "0"); first.focus(); }
      var alert = document.querySelector("#content [role=alert]");
      say(alert ? alert.textContent : document.title);
    }).catch(function () { delete form.dataset.sent; });
  }
  document.addEventListener("submit", function (event) {
    var form = event.target;
    if (form.dataset.sent) { event.preventDefault(); return; }
    if (form.method === "post") {
      if (form.dataset.native === undefined) { event.preventDefault(); send(form, event.submitter); }
    } else if (form.dataset.swap) {
      event.preventDefault();
      var to = new URL(form.action);
      to.search = query(form, event.submitter).toString();
      swap(form.dataset.swap, to.href, true);
    }
  });
  document.addEventListener("click", function (event) {
    var link = event.target.closest && event.target.closest("a[data-swap]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) { return; }
    event.preventDefault();
    swap(link.dataset.swap, link.href, true);
  });
  document.addEventListener("change", function (event) {
    var form = event.target.form;
    if (event.target.dataset && event.target.dataset.all) {
      form.querySelectorAll("input[type=checkbox]").forEach(function (box) { box.checked = event.target.checked; });
    } else if (form && form.dataset.auto !== undefined) { form.requestSubmit(); }
  });
  window.addEventListener("popstate", function (event) {
    if (event.state && event.state.swap) { swap(event.state.swap, location.href, false); } else { location.reload(); }
  });
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("form[data-sent]").forEach(function (form) { delete form.dataset.sent; });
  });
  window.addEventListener("offline", function () { found(false); watch(); });

  // Keys: "/" search, "?" the list of keys, "g" and a letter a screen.
  document.addEventListener("keydown", function (event) {
    if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) { return; }
    if (waiting) {
      waiting = false;
      var link = document.querySelector("a[data-letter='" + CSS.escape(event.key) + "']");
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    var keys = document.getElementById("keys");
    if (event.key === "?" && keys && !keys.open) { event.preventDefault(); keys.showModal(); }
    if (event.key === "/") {
      var search = document.querySelector("input[type=search]");
      if (search) { event.preventDefault(); search.focus(); search.select(); }
    }
    // A key of the page's own: a button is pressed, a field is gone to.
    var own = document.querySelector("[data-key='" + CSS.escape(event.key) + "']");
    if (own) {
      event.preventDefault();
      if (own instanceof HTMLInputElement) { own.focus(); own.select(); } else { own.click(); }
      return;
    }
    waiting = event.key === "g";
  });
  begin(document.body);
}());
