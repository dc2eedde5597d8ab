// The controls at the top of the window: the moment, the sample type and the filters.
import { el } from "./dom.js";
import { amount, count, duration, exact, percent, signed } from "./format.js";
import { badge, family } from "./verdict.js";
import { filterNames, noFilter } from "./state.js";

const kindTexts = {
  inuse_bytes: "bytes in use", inuse_objects: "objects in use", alloc_bytes: "bytes allocated in total", alloc_objects: "objects allocated in total",
};

const pause = 350; // milliseconds between moments when playing

export class Controls {
  constructor(host, heap, state, view) {
    Object.assign(this, { heap, state, view, timer: null, filterFlags: host.dataset.filter });
    const last = heap.moments.length - 1;
    this.play = el("button", { type: "button", class: "play", title: "Play (space)", click: () => this.toggle() });
    this.slider = this.range("moment", "Moment", (v) => state.set({ moment: v }), last);
    this.baseSlider = this.range("base", "Compare with", (v) => state.set({ base: v }), last);
    this.compare = el("button", { type: "button", "aria-pressed": "false", title: "Difference between two moments (d)", click: () => this.toggleBase() }, "Compare");
    this.now = el("output", { class: "now", id: "now" });
    this.baseNow = el("output", { class: "now" });
    this.baseRow = el("div", { class: "line base" }, el("span", { class: "label" }, "compared with"), this.baseSlider, this.baseNow);
    this.kind = el("select", { id: "kind", "aria-label": "Sample type", change: () => state.set({ kind: this.kind.value }) },
      ...heap.kinds.map((k) => el("option", { value: k }, kindTexts[k])));
    this.query = el("input", { type: "search", id: "search", placeholder: "Search functions, files, modules  ( / )", "aria-label": "Search functions, files and modules", spellcheck: "false", input: () => state.set({ query: this.query.value }) });
    this.module = el("select", { id: "module", "aria-label": "Module", change: () => state.set({ module: this.module.value }) },
      el("option", { value: "" }, "all modules"), ...heap.modules.map((m) => el("option", { value: m }, m.slice(m.lastIndexOf("/") + 1))));
    this.labels = el("div", { class: "labels", role: "group", "aria-label": "Verdicts" });
    this.clear = el("button", { type: "button", class: "quiet", title: "Clear the filter (Esc)", click: () => state.set(noFilter()) }, "Clear");
    this.status = el("p", { id: "status", role: "status" });
    host.append(
      el("div", { class: "line" }, this.play, this.slider, this.now, this.compare, this.kind),
      this.baseRow,
      el("div", { class: "line filters" }, this.query, this.labels, this.module, this.clear),
      this.status);
    if (last === 0) for (const e of [this.play, this.slider, this.compare]) e.disabled = true;
    state.on(["moment", "base", "kind", ...filterNames], () => this.draw());
    view.signal.addEventListener("abort", () => clearInterval(this.timer));
    this.draw();
  }

  range(id, label, change, last) {
    const input = el("input", { type: "range", id, min: 0, max: last, step: 1, "aria-label": label });
    input.addEventListener("input", () => change(Number(input.value)));
    return input;
  }

  draw() {
    const { heap, state } = this;
    const { moment, base, kind, query, labels, module } = state.values;
    this.slider.value = moment;
    this.slider.setAttribute("aria-valuetext", this.describe(moment));
    this.now.textContent = this.describe(moment);
    this.now.dataset.total = heap.total(kind, moment);
    this.baseRow.hidden = base === null;
    this.compare.setAttribute("aria-pressed", String(base !== null));
    if (base !== null) {
      this.baseSlider.value = base;
      this.baseSlider.setAttribute("aria-valuetext", this.describe(base));
      this.baseNow.textContent = this.describe(base);
    }
    this.kind.value = kind;
    if (this.query.value !== query) this.query.value = query;
    this.module.value = module;
    this.drawLabels(labels);
    this.clear.hidden = !this.filtered();
    this.drawStatus();
    this.drawPlay();
  }

  describe(i) {
    const m = this.heap.moments[i];
    const when = this.heap.raw.rate_per === "hour" ? ` · ${duration(m.at)}` : "";
    return `#${m.snapshot} of ${this.heap.raw.snapshots}${when}`;
  }

  filtered() {
    const { query, labels, module, site } = this.state.values;
    return query !== "" || labels.size > 0 || module !== "" || site !== null;
  }

  // drawStatus shows the exact totals of the moment and the part that passes the filter.
  drawStatus() {
    const { heap, state } = this;
    const { moment, base, kind, site } = state.values;
    const m = heap.moments[moment];
    const total = heap.total(kind, moment);
    const parts = [`${m.file}${m.time ? `, ${m.time.replace("T", " ").replace(/\.\d+/, "").replace("Z", " UTC")}` : ""}: ${amount(kind, total)}`];
    parts.push(kind.endsWith("_bytes") ? ` (${exact(kind, total)})` : "");
    parts.push(kind.startsWith("inuse") ? " in use" : " allocated since the start");
    if (base !== null) {
      const change = total - heap.total(kind, base);
      parts.push(`, ${signed((n) => amount(kind, n), change)} (${signed((n) => exact(kind, n), change)}) compared with #${heap.moments[base].snapshot}`);
    }
    if (m.cut) parts.push(` · the snapshot is truncated: sites below ${count(m.absent_max_bytes + 1)} B are not listed`);
    if (this.filtered()) {
      const shown = heap.sum(kind, moment, this.view.keep);
      parts.push(` · the filter keeps ${amount(kind, shown)}, ${percent(shown, total)}`);
    } else if (heap.raw.filtered) {
      const shown = heap.sum(kind, moment, this.view.keep);
      parts.push(` · ${this.filterFlags} keep ${amount(kind, shown)}, ${percent(shown, total)}`);
    }
    this.status.replaceChildren(parts.join(""),
      site === null ? "" : el("button", { type: "button", class: "chip", click: () => state.set({ site: null }) }, `only ${heap.sites[site].title}`, el("span", { "aria-hidden": "true" }, " ×"), el("span", { class: "hidden-text" }, " (show all sites)")));
  }

  drawLabels(chosen) {
    const counts = new Map();
    for (const s of this.heap.sites) counts.set(s.label, (counts.get(s.label) ?? 0) + 1);
    const focused = this.labels.contains(document.activeElement) ? document.activeElement.dataset.label : null;
    this.labels.replaceChildren(...[...counts].map(([label, n]) => el("button", {
      type: "button", class: `chip ${family(label)}`, "aria-pressed": String(chosen.has(label)), "data-label": label,
      click: () => this.toggleLabel(label),
    }, badge({ label }), el("span", { class: "count" }, n))));
    if (focused) [...this.labels.children].find((b) => b.dataset.label === focused)?.focus();
  }

  toggleLabel(label) {
    const labels = new Set(this.state.get("labels"));
    if (!labels.delete(label)) labels.add(label);
    this.state.set({ labels });
  }

  // toggleBase turns the comparison with the first judged moment on or off. At that moment it compares with the first one.
  toggleBase() {
    const { base, moment } = this.state.values;
    const first = this.heap.raw.judged[0];
    this.state.set({ base: base !== null ? null : first === moment ? 0 : first });
  }

  step(name, by) {
    const last = this.heap.moments.length - 1;
    const value = this.state.get(name);
    if (value !== null) this.state.set({ [name]: Math.min(last, Math.max(0, value + by)) });
  }

  // toggle starts to play at the current moment, or at the first one if the current one is the last; or it stops.
  toggle() {
    if (this.timer !== null) {
      clearInterval(this.timer);
      this.timer = null;
    } else {
      const last = this.heap.moments.length - 1;
      if (this.state.get("moment") === last) this.state.set({ moment: 0 });
      this.timer = setInterval(() => {
        if (this.state.get("moment") >= last) this.toggle();
        else this.step("moment", 1);
      }, pause);
    }
    this.drawPlay();
  }

  drawPlay() {
    const playing = this.timer !== null;
    this.play.textContent = playing ? "❚❚" : "▶";
    this.play.setAttribute("aria-label", playing ? "Pause" : "Play");
  }
}
