"use strict";
// Keeps the page up to date by server-sent events. An event names the slots of the page in their order and has the HTML
// of those that have changed; its id is the version of the page, by which a connection that was lost goes on without a
// gap. The server draws only what a page has in view, so the page says what that is. A hidden page does not listen.
(() => {
  const policy = globalThis.trustedTypes?.createPolicy("tuimon", { createHTML: (text) => text });
  const status = document.querySelector("#connection"), slots = new Map(), seen = new Set(), waiting = new Map();
  let since = document.body.dataset.since, page = "", source = null, timer = 0, found = document.body.dataset.run;

  function say(text, look = "") {
    if (status.textContent !== text) status.textContent = text;
    status.className = look;
  }
  function report() {
    timer = 0;
    if (!page) return;
    const body = JSON.stringify({ page, keys: [...seen] });
    fetch("view", { method: "POST", headers: { "Content-Type": "application/json" }, body }).catch(() => {});
  }
  const later = () => (timer ||= setTimeout(report, 60));
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) seen[isIntersecting ? "add" : "delete"](target.dataset.key);
    later();
  }, { rootMargin: "200px" });
  function watch(slot) {
    slots.set(slot.dataset.key, slot);
    observer.observe(slot);
    return slot;
  }
  // While a chart is dragged or text is selected in it, a slot keeps what it shows.
  function busy(slot) {
    const chosen = document.getSelection();
    return slot.querySelector(".band") || (chosen && !chosen.isCollapsed && chosen.containsNode(slot, true));
  }
  function show(slot, html) {
    const parts = ".wide, pre", focusable = "[tabindex], a";
    const places = [...slot.querySelectorAll(parts)].map((part) => part.scrollLeft);
    const focused = [...slot.querySelectorAll(focusable)].indexOf(document.activeElement);
    globalThis.redrawCharts(slot, () => (slot.innerHTML = policy ? policy.createHTML(html) : html));
    slot.querySelectorAll(parts).forEach((part, index) => (part.scrollLeft = places[index] ?? 0));
    if (focused >= 0) slot.querySelectorAll(focusable)[focused]?.focus({ preventScroll: true });
  }
  function flush() {
    for (const [key, html] of waiting) {
      const slot = slots.get(key);
      if (slot && busy(slot)) continue;
      waiting.delete(key);
      if (slot) show(slot, html);
    }
  }
  function arrange(layout) {
    const keys = new Set(layout.flatMap(([, names]) => names));
    for (const [key, slot] of slots) {
      if (keys.has(key)) continue;
      observer.unobserve(slot);
      slot.remove();
      slots.delete(key);
      seen.delete(key);
    }
    for (const [group, names] of layout) {
      const section = document.querySelector(`[data-group="${group}"]`);
      const parent = section.querySelector(".slots, table");
      let before = null;
      section.hidden = !names.length;
      for (const key of names) {
        let slot = slots.get(key);
        if (!slot) {
          slot = document.createElement(parent.matches("table") ? "tbody" : "div");
          Object.assign(slot, { className: "slot" }).dataset.key = key;
          watch(slot);
        }
        const place = before ? before.nextElementSibling : parent.querySelector(":scope > .slot");
        if (slot !== place) parent.insertBefore(slot, place);
        before = slot;
      }
    }
    later();
  }
  function listen() {
    if (source || document.hidden) return;
    source = new EventSource(`events?${new URLSearchParams({ run: found, since })}`);
    source.addEventListener("page", (event) => {
      page = event.data;
      say(found ? "live" : "waiting for the first log", "live");
      later();
    });
    source.addEventListener("reload", () => location.reload());
    source.addEventListener("message", (event) => {
      const { layout, html, metrics } = JSON.parse(event.data);
      since = event.lastEventId;
      if (layout) arrange(layout);
      const caption = document.querySelector("[data-group=metrics] caption");
      if (metrics !== undefined) caption.textContent = caption.textContent.replace(/^\d+/, metrics);
      Object.entries(html).forEach(([key, text]) => waiting.set(key, text));
      flush();
    });
    source.addEventListener("error", () => {
      page = "";
      say("disconnected, trying again", "lost");
      if (source.readyState !== EventSource.CLOSED) return;
      source = null; // the server refused it; perhaps another one is there again later
      setTimeout(listen, 3000);
    });
  }
  function pause() {
    source?.close();
    source = null;
    page = "";
    say("paused while hidden");
  }
  document.querySelectorAll(".slot").forEach(watch);
  document.addEventListener("visibilitychange", () => (document.hidden ? pause() : listen()));
  document.addEventListener("selectionchange", flush);
  document.addEventListener("pointerup", () => setTimeout(flush));
  addEventListener("pagehide", pause);
  addEventListener("pageshow", listen);
  listen();
})();
