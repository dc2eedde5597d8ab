// Memory over time: the largest sites, stacked, in the colours of their verdicts, with the triggers of the snapshots.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { el, token } from "./dom.js";
import { amount, bytes, count, duration, fullPosition } from "./format.js";
import { badge, color, family } from "./verdict.js";
import { add } from "./model.js";
import { filterNames } from "./state.js";
import { paperWidth, whenPrinted, whenResized } from "./paper.js";

const layers = 8; // number of sites that are drawn separately

const triggers = {
  unknown: "an unknown trigger", allocated: "bytes allocated", "high-water": "a record high", time: "a timer", manual: "a call or signal", exit: "the end of the process",
};

export class Timeline {
  constructor(host, heap, state, view) {
    Object.assign(this, { heap, state, view });
    this.plotHost = el("div", { class: "plot", role: "img" });
    this.legend = el("ul", { class: "legend", "aria-label": "What is stacked" });
    this.marks = el("p", { class: "marks" });
    host.append(el("div", { class: "timeline" }, this.plotHost, this.legend), this.marks);
    this.x = heap.x;
    state.on([...filterNames, "kind"], () => this.draw());
    state.on(["moment", "base"], () => {
      this.plot?.redraw(false);
      this.showValues();
    });
    whenResized(this.plotHost, () => this.resize(), view.signal);
    whenPrinted((paper) => {
      this.paper = paper;
      this.resize();
    }, view.signal);
    this.draw();
  }

  // stack is the layers from bottom to top: the sites with the highest peaks, leaks first, then all others together.
  stack() {
    const { heap, state, view } = this;
    const kind = state.get("kind");
    const sites = heap.sites.map((site, i) => ({ site, i, column: heap.siteColumn(kind, i, view.keep) }))
      .filter((l) => l.column.some((v) => v > 0));
    const order = familyOrder();
    for (const l of sites) l.peak = l.column.reduce((a, b) => Math.max(a, b), 0);
    sites.sort((a, b) => order(a.site) - order(b.site) || b.peak - a.peak);
    const chosen = new Set([...sites].sort((a, b) => weight(b) - weight(a)).slice(0, layers));
    const top = sites.filter((l) => chosen.has(l));
    const rest = sites.filter((l) => !chosen.has(l));
    const shades = {};
    for (const l of top) {
      const name = family(l.site.label);
      shades[name] = (shades[name] ?? -1) + 1;
      l.family = name;
      l.shade = shades[name];
    }
    if (rest.length > 0) {
      const column = new Float64Array(heap.moments.length);
      rest.forEach((l) => add(column, l.column));
      top.push({ site: null, i: null, column, count: rest.length, family: "other", shade: 1 });
    }
    return top;
  }

  draw() {
    const kind = this.state.get("kind");
    this.layersShown = this.stack();
    const sums = [];
    let sum = new Float64Array(this.x.length);
    for (const l of this.layersShown) {
      sum = Float64Array.from(sum);
      add(sum, l.column);
      sums.push(sum);
    }
    sums.reverse(); // the highest layer is painted first
    const total = this.heap.moments.map((m) => m[kind]);
    const rss = kind === "inuse_bytes" && this.heap.moments.some((m) => m.rss_bytes !== null) ? this.heap.moments.map((m) => m.rss_bytes) : null;
    this.plot?.destroy();
    this.plotHost.hidden = this.legend.hidden = this.x.length === 1;
    const data = [this.x, ...sums, total];
    if (rss) data.push(rss);
    this.plot = new uPlot(this.options(kind, rss !== null), data, this.plotHost);
    this.plot.over.addEventListener("click", () => {
      if (this.plot.cursor.idx !== null && this.plot.cursor.idx !== undefined) this.state.set({ moment: this.plot.cursor.idx });
    });
    this.describe(kind, total, rss);
  }

  // describe writes the legend and the text alternative of the picture.
  describe(kind, total, rss) {
    const first = total[0], last = total[total.length - 1];
    this.plotHost.setAttribute("aria-label",
      `Stacked areas over ${this.x.length} snapshots: ${amount(kind, first)} at the first, ${amount(kind, last)} at the last. The table has the numbers.`);
    this.shown = []; // the columns whose values the legend shows at the current moment
    const lines = [this.legendLine("line", kind.startsWith("inuse") ? "the whole heap" : "all that was allocated", total)];
    if (rss) lines.push(this.legendLine("dashed", "the process (RSS)", rss));
    this.twins = twins(this.layersShown.filter((l) => l.site !== null).map((l) => l.site));
    this.legend.replaceChildren(...[...this.layersShown].reverse().map((l) => this.legendRow(l)), ...lines);
    this.showValues();
    const counts = {};
    for (const m of this.heap.moments) counts[m.trigger] = (counts[m.trigger] ?? 0) + 1;
    const parts = Object.entries(counts).map(([t, n]) => `${glyph(t)} ${triggers[t] ?? t} (${n})`);
    const images = new Set(this.heap.moments.map((m) => m.image)).size;
    if (this.x.length === 1) {
      this.marks.textContent = "There is only one snapshot, so there is no change over time.";
      return;
    }
    this.marks.replaceChildren(`Triggers of the snapshots: ${parts.join(", ")}.${images > 1 ? ` Vertical lines: the process restarted (${images} images).` : ""}`,
      el("span", { class: "on-screen" }, " Click the chart, or press ← and →, to choose a moment."));
  }

  showValues() {
    const { kind, moment } = this.state.values;
    for (const { place, column } of this.shown) place.textContent = column[moment] === null ? "–" : amount(kind, column[moment]);
  }

  // value is an element for the value of a column.
  value(column) {
    const place = el("span", { class: "value" });
    this.shown.push({ place, column });
    return place;
  }

  legendLine(swatch, text, column) {
    return el("li", {}, el("span", { class: `swatch ${swatch}` }), el("span", { class: "name" }, text), this.value(column));
  }

  legendRow(l) {
    const swatch = el("span", { class: "swatch" });
    swatch.style.background = color(l.family, l.shade);
    if (l.site === null) return el("li", {}, swatch, el("span", { class: "name" }, `${count(l.count)} more ${l.count === 1 ? "site" : "sites"}`), this.value(l.column));
    const chosen = this.state.get("site") === l.i;
    return el("li", {}, el("button", {
      type: "button", class: "row", "aria-pressed": String(chosen), "data-tip": `${l.site.title}\n${fullPosition(l.site) || l.site.where}`,
      click: () => this.state.set({ site: chosen ? null : l.i }),
    }, swatch, el("span", { class: "name" }, this.twins.has(l.site) ? `${l.i + 1} ${l.site.where} ${l.site.title}` : l.site.title), badge(l.site), this.value(l.column)));
  }

  options(kind, hasRSS) {
    const painted = [...this.layersShown].reverse();
    const grid = { stroke: token("--grid"), width: 1 };
    const axis = { stroke: token("--muted"), grid, ticks: grid, font: "12px system-ui, sans-serif" };
    const isTime = this.heap.isTime;
    return {
      ...this.size(),
      padding: [18, isTime ? 12 : 36, 0, 0], // room for the last label, which is centred on the end of the axis
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
      scales: { x: { time: false }, y: { range: (_, lo, hi) => [Math.min(0, lo), hi > 0 ? hi * 1.04 : 1] } },
      axes: [
        { ...axis, size: 32, values: (_, v) => v.map((x) => (isTime ? duration(x) : this.raw(x))), incrs: isTime ? steps : byBytes(this.heap) ? binarySteps : undefined, space: 70 },
        { ...axis, size: 74, values: (_, v) => v.map((y) => (kind.endsWith("_bytes") ? bytes(y) : count(y))), incrs: kind.endsWith("_bytes") ? binarySteps : undefined },
      ],
      series: [
        {},
        ...painted.map((l) => ({ stroke: token("--surface"), width: 1, fill: color(l.family, l.shade), points: { show: false } })),
        { stroke: token("--text"), width: 1.5, points: { show: false } },
        ...(hasRSS ? [{ stroke: token("--text"), width: 1.5, dash: [6, 4], points: { show: false }, spanGaps: true }] : []),
      ],
      hooks: { draw: [(u) => this.overlay(u)] },
    };
  }

  // raw is the label of a point on an axis that is not time.
  raw(x) { return byBytes(this.heap) ? bytes(x) : `#${count(x + 1)}`; }

  // overlay draws the current moments, the restarts and the trigger of each snapshot.
  overlay(u) {
    const c = u.ctx, ratio = devicePixelRatio, { top, height } = u.bbox;
    const at = (i) => u.valToPos(this.x[i], "x", true);
    c.save();
    c.font = `${11 * ratio}px system-ui, sans-serif`;
    c.textAlign = "center";
    c.textBaseline = "alphabetic";
    c.fillStyle = token("--muted");
    let before = -Infinity;
    this.heap.moments.forEach((m, i) => {
      if (i > 0 && m.image !== this.heap.moments[i - 1].image) line(c, at(i), top, height, token("--muted"), [2 * ratio, 4 * ratio], ratio);
      if (at(i) - before >= 9 * ratio) {
        c.fillText(glyph(m.trigger), at(i), top - 5 * ratio);
        before = at(i);
      }
    });
    const { moment, base } = this.state.values;
    if (base !== null) label(c, at(base), "base", u.bbox, token("--shrank"), ratio);
    label(c, at(moment), `#${this.heap.moments[moment].snapshot}`, u.bbox, token("--accent"), ratio);
    c.restore();
  }

  size() { return { width: this.paper ? paperWidth : Math.max(240, this.plotHost.clientWidth), height: 280 }; }

  resize() {
    if (this.plot && Math.abs(this.plot.width - this.size().width) > 1) this.plot.setSize(this.size());
  }
}

function line(c, x, top, height, stroke, dash, width) {
  c.strokeStyle = stroke;
  c.lineWidth = width;
  c.setLineDash(dash);
  c.beginPath();
  c.moveTo(x, top);
  c.lineTo(x, top + height);
  c.stroke();
}

// label draws a vertical line with a label at its top.
function label(c, x, text, box, fill, ratio) {
  line(c, x, box.top, box.height, fill, [], 2 * ratio);
  c.font = `600 ${11 * ratio}px system-ui, sans-serif`;
  const w = c.measureText(text).width + 8 * ratio;
  const mid = Math.min(Math.max(x, box.left + w / 2), box.left + box.width - w / 2);
  c.fillStyle = fill;
  c.fillRect(mid - w / 2, box.top, w, 16 * ratio);
  c.fillStyle = token("--surface");
  c.fillText(text, mid, box.top + 12 * ratio);
}

// twins are the sites that have the title of another one. Their places and ranks tell them apart.
function twins(sites) {
  const counts = new Map();
  for (const s of sites) counts.set(s.title, (counts.get(s.title) ?? 0) + 1);
  return new Set(sites.filter((s) => counts.get(s.title) > 1));
}

const glyph = (trigger) => ({ time: "•", "high-water": "▴", allocated: "▫", manual: "◇", exit: "×" })[trigger] ?? "?";

// familyOrder puts leaks at the bottom of the stack, where their slope is easiest to see.
function familyOrder() {
  const order = ["leak", "suspect", "load", "fills", "quiet", "other"];
  return (site) => order.indexOf(family(site.label));
}

// weight ranks leaks and suspects above larger sites.
const weight = (l) => l.peak * (family(l.site.label) === "leak" ? 1e6 : family(l.site.label) === "suspect" ? 1e3 : 1);

const steps = [0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000];

// byBytes reports whether the axis counts allocated bytes, because there is no clock.
const byBytes = (heap) => heap.raw.clock === "allocated-bytes";

// binarySteps are steps that are round numbers of KiB, MiB and so on.
const binarySteps = Array.from({ length: 80 }, (_, i) => 2 ** i);
