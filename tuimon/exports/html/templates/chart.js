"use strict";
// Charts are read off and zoomed. All that this knows stands in the pictures: axes as attributes, curves as paths in a
// grid of one unit a column and 1000 of height. What it shows of the page's own text it sets as text, never as markup.
(() => {
  const SVG = "http://www.w3.org/2000/svg", HEIGHT = 1000, LEFT = 50, TOP = 6, DRAGGED = 5;
  const KEY_PRESSES = 360; // of an arrow, for the whole width
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const numbers = (text) => text.split(" ").map(Number);
  function make(parent, name, attributes = {}, text = "") {
    const made = document.createElementNS(name === "svg" ? SVG : parent.namespaceURI, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.textContent = text;
    return parent.appendChild(made);
  }
  // Column -> the rows of the highest and the lowest that a path has in it.
  function extents(path) {
    const found = new Map();
    let x = 0, y = 0;
    for (const [, command, rest] of path.matchAll(/([MlhvV])([-\d ]*)/g)) {
      const [a, b] = numbers(rest);
      if (command === "M") [x, y] = [a, b];
      else if (command === "l") [x, y] = [x + a, y + b];
      else if (command === "h") x += a;
      else y = command === "v" ? y + a : a;
      if (command === "V" || (command === "h" && a > 0)) continue; // the right border of an area
      const [top, bottom] = found.get(x) ?? [y, y];
      found.set(x, [Math.min(top, y), Math.max(bottom, y)]);
    }
    return found;
  }
  // grain: the least difference that a picture can show.
  function shown(value, grain) {
    if (value && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3)) return value.toExponential(2);
    return value.toFixed(clamp(Math.ceil(-Math.log10(grain)), 0, 6));
  }
  class Chart {
    constructor(svg) {
      Object.assign(this, { svg, plot: svg.querySelector("svg"), frame: svg.querySelector(".frame"), parts: [] });
      const [x, y] = [svg.dataset.x.split(" "), svg.dataset.y.split(" ")];
      this.log = y[2] === "log";
      this.unit = svg.dataset.unit ? ` ${svg.dataset.unit}` : "";
      this.x = { low: Number(x[0]), size: x[1] - x[0], last: Math.floor(x[1]), steps: x[2] === "step" };
      this.y = y.slice(0, 2).map((limit) => (this.log ? Math.log10(limit) : Number(limit)));
      [this.width, this.height] = ["width", "height"].map((side) => Number(this.frame.getAttribute(side)));
      this.columns = this.size = Number(svg.dataset.columns);
      this.low = 0; // the first column that is shown, of `size`
      const on = (names, act) => names.forEach((name) => svg.addEventListener(name, (event) => act(event, name)));
      on(["pointerdown", "pointermove", "pointerup", "keydown"], (event, name) => this[name](event));
      on(["pointerleave", "pointercancel", "blur"], () => this.read());
      on(["dblclick"], () => this.zoom());
      Object.entries({ tabindex: "0", role: "application" }).forEach(([name, is]) => svg.setAttribute(name, is));
    }
    place = (column) => LEFT + ((column - this.low) / this.size) * this.width;
    under(event) {
      const box = this.frame.getBoundingClientRect();
      return this.low + clamp((event.clientX - box.left) / box.width, 0, 0.9999) * this.size;
    }
    where(column) {
      const [low, next] = [column, column + 1].map((at) => this.x.low + (at / this.columns) * this.x.size);
      if (!this.x.steps) return shown(low, next - low);
      const [first, after] = [low, next].map((at) => Math.ceil(at - 1e-9 * this.x.size));
      const last = column + 1 < this.columns ? after - 1 : this.x.last;
      return first < last ? `steps ${first} to ${last}` : `step ${Math.min(first, last)}`;
    }
    // Of rows; of an area how high it is.
    value([top, bottom], area) {
      const line = (row) => this.y[1] - (clamp(row, 0, HEIGHT) / HEIGHT) * (this.y[1] - this.y[0]);
      const at = (row) => (this.log ? 10 ** line(row) : line(row));
      const beyond = (row) => (row < 0 ? "above " : row > HEIGHT ? "below " : "");
      const told = (row) => beyond(row) + shown(at(row), at(row) - at(row + 1) || at(row - 1) - at(row));
      const range = top === bottom ? told(top) : `${told(bottom)} to ${told(top)}`;
      return area ? shown(at(top) - at(bottom), at(0) - at(1)) : range;
    }
    curves() {
      const paths = [...this.plot.querySelectorAll("path[data-label], path:not(.dots, .behind)")].reverse();
      return (this.known ??= paths.map((path) => [path, extents(path.getAttribute("d"))]));
    }
    // What each curve has in the column, or in the nearest one in which it has a point. Without a column: nothing.
    read(column = null) {
      this.at = column;
      this.parts.splice(0).forEach((part) => part.remove());
      if (column === null) return void (this.from = null);
      const whole = Math.floor(column), x = this.place(whole + 0.5), high = { y: TOP, height: this.height };
      if (this.from != null) {
        const [left, right] = [this.from, column].sort((a, b) => a - b).map((end) => this.place(end));
        this.parts.push(make(this.svg, "rect", { class: "band", x: left, width: right - left, ...high }));
      }
      const look = x < LEFT + this.width / 2 ? "readout right" : "readout";
      const box = make(this.svg.parentNode, "div", { class: look, role: "status" });
      this.parts.push(make(this.svg, "rect", { class: "cursor", x, width: 1, ...high }), box);
      for (const [path, columns] of this.curves()) {
        const nearer = (a, b) => (Math.abs(b - whole) < Math.abs(a - whole) ? b : a);
        const near = [...columns.keys()].reduce(nearer, Infinity);
        if (near === Infinity) continue; // all of it is NaN
        const look = path.getAttribute("class"), area = look.includes("fill-"), line = make(box, "p");
        const sample = make(line, "svg", { viewBox: "0 0 28 8", "aria-hidden": "true" });
        make(sample, "path", { class: look, d: area ? "M1 0h26v8h-26z" : "M1 4h26" });
        line.append(`${path.dataset.label ?? ""} ${this.value(columns.get(near), area)}${this.unit}, ${this.where(near)}`);
      }
    }
    zoom(low = 0, size = this.columns) {
      this.size = clamp(size, Math.min(4, this.columns), this.columns);
      this.low = clamp(low, 0, this.columns - this.size);
      const [, y, , height] = numbers(this.plot.getAttribute("viewBox")), beside = (4 * this.size) / this.width;
      this.plot.setAttribute("viewBox", `${this.low - 0.5 - beside} ${y} ${this.size + 2 * beside} ${height}`);
      const there = (element, is) => element.setAttribute("visibility", is ? "visible" : "hidden");
      for (const event of this.svg.querySelectorAll(".event")) {
        const first = event.firstElementChild, was = first.getAttribute("x1") ?? first.getAttribute("x");
        const x = this.place(((was - LEFT) / this.width) * this.columns);
        event.setAttribute("transform", `translate(${x - was})`);
        there(event, Math.abs(x - LEFT - this.width / 2) <= this.width / 2 + 1);
      }
      const ticks = this.svg.querySelectorAll(".tick"), whole = this.size === this.columns;
      this.svg.querySelectorAll(".zoomed").forEach((tick) => tick.remove());
      ticks.forEach((tick) => there(tick, whole));
      if (!whole && ticks.length) this.ticks(ticks[0].getAttribute("y"));
    }
    ticks(y) {
      const column = this.x.size / this.columns, low = this.x.low + this.low * column, size = this.size * column;
      const rough = Math.max(size / 7, this.x.steps ? 1 : 0), power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].find((some) => some * power >= rough * 0.999) * power;
      for (let at = Math.ceil(low / step); at * step <= low + size; at += 1) {
        const x = LEFT + ((at * step - low) / size) * this.width;
        const anchor = x > LEFT + this.width * 0.95 ? "end" : "middle";
        make(this.svg, "text", { class: "zoomed", x, y, "text-anchor": anchor }, shown(at * step, step));
      }
    }
    // What the reader of the page has chosen, along x in the data's own units; null if nothing.
    state() {
      const along = (column) => this.x.low + (column / this.columns) * this.x.size, zoomed = this.size < this.columns;
      if (!zoomed && this.at == null) return null;
      const range = zoomed ? [along(this.low), along(this.low + this.size)] : null;
      return { range, at: this.at == null ? null : along(this.at) };
    }
    restore(state) {
      const column = (x) => ((x - this.x.low) / this.x.size) * this.columns;
      if (state?.range) this.zoom(column(state.range[0]), column(state.range[1]) - column(state.range[0]));
      if (state && state.at !== null) this.read(clamp(column(state.at), 0, this.columns - 1));
    }
    pointermove = (event) => this.read(this.under(event));
    pointerdown = (event) => (this.from = event.button || event.pointerType === "touch" ? null : this.under(event));
    pointerup(event) {
      const at = this.under(event), [low, high] = [this.from ?? at, at].sort((a, b) => a - b);
      this.from = null;
      if (this.place(high) - this.place(low) > DRAGGED) this.zoom(low, high - low);
      this.pointermove(event);
    }
    keydown(event) {
      const at = this.at ?? this.low + this.size / 2, last = this.columns - 1;
      const far = (event.shiftKey ? 10 : 1) * Math.max(1, Math.round(this.size / KEY_PRESSES));
      const columns = { ArrowLeft: at - far, ArrowRight: at + far, Home: 0, End: last };
      const around = { "+": 0.5, "=": 0.5, "-": 2, 0: Infinity, Escape: Infinity }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey || (!around && !(event.key in columns))) return;
      event.preventDefault();
      const to = clamp(columns[event.key] ?? at, 0, last);
      if (around) this.zoom(around < 9 ? at - (at - this.low) * around : 0, this.size * around);
      else if (to < this.low || to >= this.low + this.size) this.zoom(to - this.size / 2, this.size);
      this.read(event.key === "Escape" ? null : to);
    }
  }
  const charts = new Map();
  const attach = (svg) => charts.set(svg, new Chart(svg)).get(svg);
  document.querySelectorAll(".chart").forEach(attach);
  // For a page that changes: draw() replaces the content of an element. Zoom and readout of its charts stay.
  globalThis.redrawCharts = (element, draw) => {
    const before = [...element.querySelectorAll(".chart")].map((svg) => [charts.get(svg)?.state(), charts.delete(svg)]);
    draw();
    element.querySelectorAll(".chart").forEach((svg, index) => attach(svg).restore(before[index]?.[0]));
  };
  const help = "Point at a chart to read it off; drag to zoom, double click for all of it. Keys: arrows, +, -, 0.";
  make(document.querySelector("footer"), "p", { class: "help" }, help);
})();
