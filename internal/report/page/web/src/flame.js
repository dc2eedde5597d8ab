// The call tree at a moment, or its changes between two. The tree is the same at all moments; only widths change.
import { select } from "d3-selection";
import flamegraph from "d3-flame-graph";
import { el, token } from "./dom.js";
import { amount, percent, signed } from "./format.js";
import { color, family, familyNames, familyText, mark } from "./verdict.js";
import { filterNames } from "./state.js";
import { paperWidth, whenPrinted, whenResized } from "./paper.js";

const narrowest = 2; // pixels; narrower frames are not drawn
const mostFrames = 1000; // more are slow to draw and too small to read

export class Flame {
  constructor(host, heap, state, view) {
    Object.assign(this, { heap, state, view });
    this.tree = heap.tree(state.get("frames"));
    this.siteFamilies = heap.sites.map((s) => familyNames.indexOf(family(s.label)));
    this.detail = el("p", { class: "details" }, hint);
    this.legend = el("div", { class: "legend flat" });
    this.chartHost = el("div", { class: "frames" });
    this.reset = el("button", { type: "button", click: () => state.set({ zoom: 0 }) }, "Whole tree");
    this.turn = el("button", { type: "button", "aria-pressed": "false", title: "Callers at the bottom, as in a flame graph (i)", click: () => state.set({ rising: !state.get("rising") }) }, "Flames up");
    this.frames = el("button", { type: "button", title: "Show the frames of interpreters and libraries of languages, or fold them (r)", click: () => state.toggleFrames() }, "Frames of runtimes");
    this.empty = el("p", { class: "empty", hidden: true });
    host.append(el("div", { class: "tools" }, this.turn, this.frames, this.reset, this.legend), this.detail, this.empty, this.chartHost);
    this.data = this.nest();
    this.make();
    state.on(["moment", "base", "kind", ...filterNames], () => this.update());
    state.on(["rising"], () => this.make());
    state.on(["frames"], () => this.choose());
    state.on(["zoom"], () => this.zoom());
    whenResized(this.chartHost, () => this.resize(), view.signal);
    this.chartHost.addEventListener("keydown", (e) => this.key(e));
    whenPrinted((paper) => this.print(paper), view.signal);
  }

  // nest returns the tree as nested objects, with callees ordered by their peaks.
  nest() {
    const { heap, tree } = this;
    const nodes = tree.nodes.map((node, index) => ({ index, name: heap.describeNode(node).name, children: [], peak: 0 }));
    heap.columns[heap.kinds[0]].forEach((c, leaf) => { nodes[tree.of[heap.leafNodes[leaf]]].peak += c.reduce((a, b) => Math.max(a, b), 0); });
    for (let i = nodes.length - 1; i > 0; i--) {
      nodes[tree.parents[i]].peak += nodes[i].peak;
      nodes[tree.parents[i]].children.push(nodes[i]);
    }
    for (const n of nodes) n.children.sort((a, b) => b.peak - a.peak || a.index - b.index);
    return nodes[0];
  }

  // choose shows all frames, or folds those of runtimes.
  choose() {
    this.tree = this.heap.tree(this.state.get("frames"));
    this.data = this.nest();
    this.make();
  }

  // make draws a new chart, because the direction and the nodes of a chart cannot change.
  make() {
    const rising = this.state.get("rising");
    this.turn.setAttribute("aria-pressed", String(rising));
    this.frames.setAttribute("aria-pressed", String(this.state.get("frames")));
    this.values = this.compute();
    this.chart = flamegraph()
      .width(this.width())
      .cellHeight(20)
      .minFrameSize(this.narrowest())
      .transitionDuration(0)
      .inverted(!rising)
      .selfValue(true)
      .sort(false)
      .resetHeightOnZoom(true)
      .getName((d) => this.label(d.data.index))
      .getValue((data) => this.values.self[data.index])
      .setColorMapper((d) => this.fill(d.data.index))
      .setLabelHandler((d) => this.describe(d.data.index))
      .setDetailsHandler((text) => { this.detail.textContent = text ?? hint; })
      .onClick((d) => {
        if (d.data.index === this.zoomed) return this.finish();
        this.state.set({ zoom: d.data.index }); // draws again, because more frames are wide enough now
      });
    this.chartHost.replaceChildren();
    unmark(this.data);
    this.selection = select(this.chartHost).datum(this.data);
    this.selection.call(this.chart);
    this.byIndex = [];
    this.selection.datum().each((n) => { this.byIndex[n.data.index] = n; });
    this.zoomed = 0;
    this.zoom();
    this.finish();
    if (rising) this.chartHost.scrollTop = this.chartHost.scrollHeight;
  }

  // narrowest is the least width of a frame that is drawn, in pixels. It limits the number of frames.
  narrowest() {
    const { total } = this.values;
    const zoom = this.state.get("zoom");
    const below = zoom === 0 ? total : this.below(zoom);
    if (below.length <= mostFrames || total[zoom] === 0) return narrowest;
    const smallest = Float64Array.from(below).sort()[below.length - mostFrames];
    return Math.max(narrowest, (smallest / total[zoom]) * this.width());
  }

  // below is the totals of a node and its callees.
  below(node) {
    const inside = new Uint8Array(this.tree.parents.length);
    inside[node] = 1;
    const out = [this.values.total[node]];
    for (let i = node + 1; i < inside.length; i++) {
      if (!inside[this.tree.parents[i]]) continue;
      inside[i] = 1;
      out.push(this.values.total[i]);
    }
    return out;
  }

  width() { return this.paper ? paperWidth : Math.max(280, this.chartHost.clientWidth - 2); }

  // print draws for paper. The style scales the picture to its width.
  print(paper) {
    this.paper = paper;
    const root = this.chartHost.querySelector("svg");
    for (const g of root.querySelectorAll("g.frame")) g.remove(); // existing frames would move to their places only after printing
    this.chart.width(this.width());
    this.update();
    if (paper) root.setAttribute("viewBox", `0 0 ${root.getAttribute("width")} ${root.getAttribute("height")}`);
    else root.removeAttribute("viewBox");
  }

  compute() {
    const { kind, moment, base } = this.state.values;
    return this.heap.flame(this.tree, kind, moment, base, this.view.keep, this.siteFamilies, familyNames);
  }

  update() {
    this.values = this.compute();
    if (this.values.total[this.state.get("zoom")] === 0) this.state.set({ zoom: 0 });
    this.chart.minFrameSize(this.narrowest()).update();
    this.finish();
  }

  // zoom shows the part of the tree below the chosen node.
  zoom() {
    const node = this.byIndex?.[this.state.get("zoom")];
    if (!node || node.data.index === this.zoomed) return;
    this.zoomed = node.data.index;
    unmark(this.data);
    this.chart.minFrameSize(this.narrowest()).zoomTo(node);
    this.finish();
  }

  resize() {
    if (Math.abs(this.chart.width() - this.width()) > 1) {
      this.chart.width(this.width());
      this.update();
    }
  }

  label(index) {
    const { name } = this.heap.describeNode(this.tree.nodes[index]);
    if (this.state.get("base") === null) return name;
    const v = this.values.net[index];
    return `${v > 0 ? "+" : v < 0 ? "−" : "±"} ${name}`;
  }

  // fill is the colour of the verdict with most of a frame's memory. In a difference it is the share of growth in the change.
  fill(index) {
    if (index === 0) return token("--frame-root");
    if (this.state.get("base") === null) return color(familyNames[this.values.top[index]], this.tree.nodes[index].functions[0] % 2);
    const lean = this.values.total[index] > 0 ? this.values.net[index] / this.values.total[index] : 0;
    return mix(token("--even"), token(lean > 0 ? "--grew" : "--shrank-fill"), Math.abs(lean));
  }

  // describe is the text of a frame.
  describe(index) {
    const { kind, base } = this.state.values;
    const { total, net, top } = this.values;
    const node = this.heap.describeNode(this.tree.nodes[index]);
    const parts = [node.name, node.where].filter(Boolean);
    if (base === null) {
      parts.push(`${amount(kind, total[index])}, ${percent(total[index], total[0])} of what is shown`, `most of it: ${familyText(familyNames[top[index]])}`);
    } else {
      parts.push(`${signed((n) => amount(kind, n), net[index])} (${amount(kind, (total[index] + net[index]) / 2)} more, ${amount(kind, (total[index] - net[index]) / 2)} less)`);
    }
    return parts.join(" · ");
  }

  // finish adds names for assistive technology, and one frame that the keyboard can reach.
  finish() {
    const { kind, base, zoom } = this.state.values;
    const shown = this.values.total[0] > 0;
    this.empty.hidden = shown;
    this.chartHost.hidden = !shown;
    this.empty.textContent = base !== null ? "The two moments do not differ in what is shown." : "Nothing in use at this moment passes the filter. Choose another moment, or clear the filter (Esc).";
    this.reset.disabled = zoom === 0;
    const root = this.chartHost.querySelector("svg");
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", `Call tree, ${amount(kind, this.values.total[0])}. Arrow keys move between frames, Enter zooms.`);
    root.querySelector("text.title")?.remove();
    for (const g of root.querySelectorAll("g.frame")) {
      const d = g.__data__;
      g.setAttribute("role", "button");
      g.setAttribute("aria-label", this.describe(d.data.index));
      g.removeAttribute("name");
      g.dataset.index = d.data.index;
      g.setAttribute("tabindex", d.data.index === zoom ? "0" : "-1");
      const rect = g.querySelector("rect");
      select(rect).interrupt(); // the chart animates new frames; show their final width at once
      rect.setAttribute("width", g.getAttribute("width"));
      g.querySelector(".d3-flame-graph-label").textContent = this.label(d.data.index);
    }
    this.drawLegend();
  }

  drawLegend() {
    const swatch = (fill) => {
      const s = el("span", { class: "swatch" });
      s.style.background = fill;
      return s;
    };
    const items = this.state.get("base") === null
      ? familyNames.filter((_, f) => this.siteFamilies.includes(f)).map((name) => el("span", {}, swatch(color(name)), `${mark(name)} ${familyText(name)}`))
      : [el("span", {}, swatch(token("--grew")), "+ grew"), el("span", {}, swatch(token("--even")), "± growth and shrinkage cancel out"), el("span", {}, swatch(token("--shrank-fill")), "− shrank"), el("span", {}, "widths: how much changed")];
    this.legend.replaceChildren(...items);
  }

  key(e) {
    const g = e.target.closest?.("g.frame");
    if (!g) return;
    if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      e.stopPropagation();
      this.state.set({ zoom: Number(g.dataset.index) });
      this.focus(Number(g.dataset.index));
      return;
    }
    const next = this.neighbour(Number(g.dataset.index), e.key);
    if (next === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    if (next !== null) this.focus(next);
  }

  // neighbour is the frame that an arrow key leads to: undefined for other keys, null if there is none.
  neighbour(index, key) {
    const down = this.state.get("rising") ? "ArrowUp" : "ArrowDown", up = this.state.get("rising") ? "ArrowDown" : "ArrowUp";
    if (![down, up, "ArrowLeft", "ArrowRight"].includes(key)) return undefined;
    const drawn = (i) => this.chartHost.querySelector(`g.frame[data-index="${i}"]`) !== null;
    const node = this.byIndex[index];
    if (key === up) return node.parent ? node.parent.data.index : null;
    if (key === down) return (node.children ?? []).map((c) => c.data.index).find(drawn) ?? null;
    const row = (node.parent?.children ?? []).map((c) => c.data.index).filter(drawn);
    return row[row.indexOf(index) + (key === "ArrowRight" ? 1 : -1)] ?? null;
  }

  focus(index) {
    const g = this.chartHost.querySelector(`g.frame[data-index="${index}"]`);
    if (!g) return;
    for (const other of this.chartHost.querySelectorAll('g.frame[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    g.setAttribute("tabindex", "0");
    g.focus();
    this.detail.textContent = this.describe(index);
  }
}

const hint = "Point at a frame, or move through the frames with the arrow keys; click or Enter zooms.";

// unmark removes the marks of an earlier zoom.
function unmark(node) {
  const todo = [node];
  while (todo.length) {
    const n = todo.pop();
    n.hide = n.fade = false;
    todo.push(...n.children);
  }
}

// mix blends two colours of the form #rrggbb.
function mix(a, b, share) {
  const part = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  return `rgb(${[0, 1, 2].map((i) => Math.round(part(a, i) * (1 - share) + part(b, i) * share)).join(",")})`;
}
