// The ranked sites with sparklines. The selected site shows its call paths.
import { el, svg } from "./dom.js";
import { amount, bytes, duration, exact, fullPosition, position, signed } from "./format.js";
import { runText } from "./model.js";
import { badge, family } from "./verdict.js";
import { filterNames } from "./state.js";
import { whenPrinted } from "./paper.js";

const firstRows = 12;
const firstFrames = 8; // of a call path
const roomForFrames = 14; // of all call paths that are shown at first
const firstWays = 8; // of what holds a site
const paperRows = 50;

export class Table {
  constructor(host, heap, state, view) {
    Object.assign(this, { heap, state, view, all: false, why: new Set() });
    this.forget();
    this.head = el("tr");
    this.body = el("tbody");
    this.more = el("button", { type: "button", class: "more", click: () => { this.all = true; this.draw(); } });
    this.note = el("p", { class: "empty", role: "status" });
    host.append(el("div", { class: "scroll", role: "region", "aria-label": "Table of allocation sites", tabindex: "0" }, el("table", {}, el("thead", {}, this.head), this.body)), this.note, this.more);
    this.ranks = heap.sites.map((_, i) => i);
    state.on(["site"], () => this.forget());
    state.on([...filterNames, "kind", "sort", "moment", "base", "frames"], () => this.draw());
    whenPrinted((paper) => {
      this.paper = paper;
      this.draw();
    }, view.signal);
    this.draw();
  }

  // forget folds what was unfolded of the site that is open: what holds it, all call paths, long ones, frames of runtimes.
  forget() {
    this.allPaths = false;
    this.allWays = false;
    this.whole = new Set();
    this.opened = new Set();
  }

  // columns have a name, a heading and the value of a site to sort by.
  columns() {
    const { kind, moment, base } = this.state.values;
    const at = (i) => this.heap.siteColumn(kind, i)[moment];
    const value = base === null ? at : (i) => at(i) - this.heap.siteColumn(kind, i)[base];
    const show = (n) => amount(kind, n);
    return [
      { name: "rank", heading: "#", value: (i) => i, up: true },
      { name: "verdict", heading: "Verdict", value: (i) => this.heap.sites[i].label, up: true },
      { name: "growth", heading: "Growth", value: (i) => this.heap.sites[i].growth_bytes, number: true },
      { name: "rate", heading: `Per ${this.heap.raw.rate_per}`, value: (i) => this.heap.sites[i].rate, number: true },
      base === null
        ? { name: "value", heading: kind.startsWith("inuse") ? "In use" : "Allocated", value, number: true, show }
        : { name: "value", heading: "Change", value, number: true, show: (n) => signed(show, n) },
      { name: "trend", heading: "Trend", value: null },
      { name: "site", heading: "Site", value: (i) => this.heap.sites[i].title, up: true },
    ];
  }

  // rows are the sites with a leaf that passes the filter.
  rows() {
    const kept = new Set();
    this.view.keep.forEach((k, leaf) => { if (k) kept.add(this.heap.leafSites[leaf]); });
    const siteChosen = this.state.get("site");
    const rows = this.ranks.filter((i) => kept.has(i) || i === siteChosen);
    const sort = this.state.get("sort");
    const column = this.columns().find((c) => c.name === sort.replace("-", ""));
    if (!column?.value) return rows;
    const sign = (sort.startsWith("-") ? -1 : 1) * (column.up ? 1 : -1);
    const value = new Map(rows.map((i) => [i, column.value(i)]));
    return rows.sort((a, b) => sign * compare(value.get(a), value.get(b)) || a - b);
  }

  draw() {
    const focused = document.activeElement?.dataset?.focus;
    const columns = this.columns();
    this.head.replaceChildren(...columns.map((c) => this.heading(c)));
    const rows = this.rows();
    const shown = this.all ? rows : rows.slice(0, this.paper ? paperRows : firstRows);
    this.body.replaceChildren(...shown.flatMap((i) => this.row(i, columns)));
    this.more.hidden = shown.length === rows.length;
    this.more.textContent = `Show all ${rows.length} sites`;
    this.note.textContent = this.remark(shown.length, rows.length);
    const places = [...this.body.querySelectorAll("[data-focus]"), ...this.head.querySelectorAll("[data-focus]")];
    if (focused) (places.find((e) => e.dataset.focus === focused) ?? places.find((e) => e.dataset.focus === `site-${this.state.get("site")}`))?.focus();
  }

  // remark is what the table leaves out on paper. On a screen the button shows that.
  remark(shown, all) {
    if (this.heap.sites.length === 0) return "There are no sites: nothing was in use when the snapshots were taken.";
    if (all === 0) return "No site passes the filter. Press Esc to clear it.";
    return this.paper && shown < all ? `The first ${shown} of ${all} sites; the page on a screen has the others.` : "";
  }

  heading(c) {
    if (!c.value) return el("th", { scope: "col" }, c.heading);
    const sort = this.state.get("sort");
    const active = sort.replace("-", "") === c.name;
    const descending = active && sort.startsWith("-") === Boolean(c.up);
    const direction = !active ? null : descending ? "descending" : "ascending";
    return el("th", { scope: "col", class: c.number ? "number" : null, "aria-sort": direction },
      el("button", { type: "button", class: "sort", "data-focus": `sort-${c.name}`, click: () => this.state.set({ sort: active && !sort.startsWith("-") ? `-${c.name}` : c.name }) },
        c.heading, active ? el("span", { "aria-hidden": "true" }, descending ? " ▼" : " ▲") : null));
  }

  row(i, columns) {
    const site = this.heap.sites[i];
    const chosen = this.state.get("site") === i;
    const value = columns[4];
    const v = value.value(i);
    const known = family(site.label) !== "other";
    const judged = known && site.label !== "insufficient";
    const toggle = () => this.state.set({ site: chosen ? null : i });
    const tr = el("tr", { class: chosen ? "chosen" : null, "data-site": i, click: (e) => { if (!e.target.closest("button, a") && !String(getSelection())) toggle(); } },
      el("td", { class: "number muted" }, known ? i + 1 : ""),
      el("td", {}, badge(site, "button", {
        type: "button", "aria-expanded": String(this.why.has(i)), "data-focus": `why-${i}`,
        click: () => { if (!this.why.delete(i)) this.why.add(i); this.draw(); },
      })),
      el("td", { class: "number" }, known ? signed(bytes, site.growth_bytes) : "–"),
      el("td", { class: "number", title: judged ? `95 %: ${bytes(site.rate_low)} to ${bytes(site.rate_high)}` : null }, judged ? signed(bytes, site.rate) : "–"),
      el("td", { class: "number", title: exact(this.state.get("kind"), v) }, this.heap.sites[i].hidden?.includes(this.state.get("moment")) ? "not listed" : value.show(v)),
      el("td", {}, this.spark(i)),
      el("td", { class: "site" },
        el("button", { type: "button", class: "name", "aria-expanded": String(chosen), "data-focus": `site-${i}`, "data-tip": fullPosition(site) || null, click: toggle }, el("bdi", {}, site.title)),
        " ", el("span", { class: "where", "data-tip": fullPosition(site) || null }, site.where),
        site.callers ? el("div", { class: "callers" }, site.callers) : null,
        site.holder ? el("div", { class: "callers" }, site.holder) : null));
    const below = (name, content) => el("tr", { class: name }, el("td", { colspan: columns.length }, content));
    return [tr, this.why.has(i) && below("why", el("p", {}, site.meaning)), chosen && below("paths", this.paths(site))].filter(Boolean);
  }

  // spark draws a site's values, scaled from zero to the highest. Moments that do not list the site are gaps.
  spark(i) {
    const kind = this.state.get("kind");
    const column = this.heap.siteColumn(kind, i);
    const hidden = new Set(this.heap.sites[i].hidden ?? []);
    const w = 120, h = 24, x = this.heap.x;
    const span = x[x.length - 1] - x[0] || 1;
    const top = column.reduce((a, b) => Math.max(a, b), 0) || 1;
    let d = "", pen = "M";
    column.forEach((v, m) => {
      if (hidden.has(m)) { pen = "M"; return; }
      d += `${pen}${(((x[m] - x[0]) / span) * (w - 4) + 2).toFixed(1)} ${(h - 2 - (v / top) * (h - 4)).toFixed(1)}`;
      pen = "L";
    });
    const m = this.state.get("moment");
    const dot = hidden.has(m) ? [] : [svg("circle", { cx: ((x[m] - x[0]) / span) * (w - 4) + 2, cy: h - 2 - (column[m] / top) * (h - 4), r: 2.5 })];
    return svg("svg", { class: `spark ${family(this.heap.sites[i].label)}`, width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": `from ${amount(kind, column[0])} to ${amount(kind, column[column.length - 1])}` },
      svg("path", { d }), ...dot);
  }

  paths(site) {
    const facts = [];
    for (const line of site.losses ?? []) facts.push(el("p", {}, line));
    if (site.ways) facts.push(this.ways(site));
    if (site.ages?.length > 1) facts.push(this.ages(site));
    if (site.advice) facts.push(el("p", { class: "next" }, `→ ${site.advice}`));
    if (site.unnamed) facts.push(el("p", { class: "muted" }, site.unnamed));
    if (site.resizing) facts.push(el("p", { class: "muted" }, "a few objects become larger: a table or a buffer that is resized"));
    if (family(site.label) !== "other") {
      const rate = site.label === "insufficient" ? "too few snapshots or samples for a rate" : `${signed(bytes, site.rate)} per ${this.heap.raw.rate_per} (95 %: ${bytes(site.rate_low)} to ${bytes(site.rate_high)})`;
      facts.push(el("p", { class: "muted" }, `${rate} · ${site.stacks} call ${site.stacks === 1 ? "path" : "paths"} · ${site.module || "no module"}`));
    }
    const shown = this.allPaths ? site.paths : this.firstPaths(site);
    const left = site.paths.length - shown.length;
    const unlisted = site.stacks - site.paths.length;
    return el("div", { class: "path-list" }, ...facts, site.source && this.source(site.source),
      ...shown.map((p, n) => this.path(p, site, n)),
      left > 0 && el("button", { type: "button", class: "more", "data-focus": "paths", click: () => { this.allPaths = true; this.draw(); } }, `Show ${left} more call ${left === 1 ? "path" : "paths"}`),
      left === 0 && unlisted > 0 && el("p", { class: "muted" }, `… and ${unlisted} more call ${unlisted === 1 ? "path" : "paths"} that grew less`));
  }

  // ages draws how long the memory of a site stays in use: a bar for the end of each part of the series, with the oldest
  // memory at the bottom. What is freed is missing from the next bar.
  ages(site) {
    const ends = this.heap.raw.age_ends, w = 44, gap = 6, h = 90;
    const sum = (list) => list.reduce((a, b) => a + b, 0);
    const top = Math.max(...site.ages.map(sum)) || 1;
    const born = (part) => part === 0 ? `before ${duration(ends[0].at)}` : `from ${duration(ends[part - 1].at)} to ${duration(ends[part].at)}`;
    const bar = (cohorts, i) => {
      let y = h;
      return cohorts.map((n, part) => svg("rect", {
        class: `age-${part}`, x: i * (w + gap), y: y -= (n / top) * h, width: w, height: (n / top) * h,
        "data-tip": `${bytes(n)} of what was allocated ${born(part)} is in use after ${duration(ends[i].at)}`,
      }));
    };
    const last = site.ages.at(-1), old = sum(last.slice(0, last.length / 2));
    const width = site.ages.length * (w + gap);
    return el("figure", { class: "ages" },
      el("figcaption", {}, "How long it stays in use: each shade is what was allocated in one part of the series, the darkest first"),
      svg("svg", {
        viewBox: `0 0 ${width} ${h + 16}`, role: "img",
        "aria-label": `in use after ${duration(ends.at(-1).at)}: ${bytes(sum(last))}, of which ${bytes(old)} were allocated before ${duration(ends[(last.length / 2 | 0) - 1].at)}`,
      }, ...site.ages.flatMap(bar), ...ends.map((e, i) => svg("text", { x: i * (w + gap) + w / 2, y: h + 13 }, duration(e.at)))));
  }

  // ways draws what holds the blocks of a site: from the variables to the blocks. Of a long list, the rest is shown on
  // request.
  ways(site) {
    const all = count(site.ways);
    const room = { rows: this.allWays || this.paper || all <= firstWays + 2 ? all : firstWays };
    const left = all - room.rows;
    return el("figure", { class: "ways" },
      el("figcaption", {}, `What holds it, for ${site.looked} of its blocks from the first half of the recording`),
      this.nodes(site.ways, site.looked, room),
      left > 0 && el("button", { type: "button", class: "more", "data-focus": "ways", click: () => { this.allWays = true; this.draw(); } }, `Show ${left} more lines`));
  }

  // nodes are ways that part at one object. Objects that all blocks of a way share stand in a row. There are as many rows
  // as there is room for.
  nodes(list, looked, room) {
    return el("ul", {}, ...list.map((first) => {
      if (room.rows-- <= 0) return null;
      const row = rowOf(first);
      const below = row.at(-1).nodes;
      return el("li", { class: first.few ? "muted" : null },
        el("span", { class: "count" }, `${first.blocks} of ${looked}`),
        ...row.flatMap((n, i) => [i > 0 && el("span", { class: "arrow" }, " → "), el("bdi", { class: "object" }, n.text)]),
        first.few && el("span", {}, " so few may be memory that was not cleared"),
        below && room.rows > 0 && this.nodes(below, looked, room));
    }));
  }

  // firstPaths are the call paths that fit in a window: at least one.
  firstPaths(site) {
    let room = roomForFrames;
    return site.paths.filter((p, n) => (room -= Math.min(firstFrames, this.heap.fold(p, this.state.get("frames")).length)) >= 0 || n === 0);
  }

  // source is the lines around the one that a site names.
  source(s) {
    return el("figure", { class: "source" },
      el("figcaption", {}, el("bdi", { class: "function" }, s.function), " ", el("span", { class: "where" }, fullPosition(s)), s.changed && el("span", { class: "tag" }, "the file changed after the recording")),
      el("pre", { tabindex: "0", role: "group", "aria-label": "Source" }, ...s.lines.flatMap((line, i) => [
        el("code", { class: s.first + i === s.line ? "named" : null }, `${String(s.first + i).padStart(String(s.first + s.lines.length).length)}  ${line}`), "\n"])));
  }

  // path is one call path, the allocating function first. Of a long one, the frames after the first are shown on request.
  path(p, site, n) {
    const groups = this.heap.fold(p, this.state.get("frames"));
    const whole = this.whole.has(n) || this.paper || groups.length <= firstFrames + 2;
    const shown = whole ? groups : groups.slice(0, firstFrames);
    return el("section", { class: "path" },
      el("h3", {}, `Call path${site.paths.length > 1 ? ` ${n + 1} of ${site.stacks}` : ""}: ${signed(bytes, p.growth_bytes)}, now ${bytes(p.now_bytes)}`, n === 0 ? el("span", { class: "muted" }, " · the allocating function first") : null),
      el("ol", {}, ...shown.map((g, i) => this.group(g, `${n} ${i}`))),
      !whole && el("button", { type: "button", class: "more", "data-focus": `frames-${n}`, click: () => { this.whole.add(n); this.draw(); } }, `Show ${groups.length - firstFrames} more frames`));
  }

  // group is a frame, or frames of one runtime, which a click unfolds.
  group(g, key) {
    if (g.frames.length === 1) return this.frame(g.frames[0], g.blamed);
    const open = this.opened.has(key);
    const text = runText(g.runtime, g.frames.length);
    return el("li", { class: "run" },
      el("button", {
        type: "button", "aria-expanded": String(open), "data-focus": `run-${key}`, "data-tip": open ? null : g.frames.map((f) => this.heap.frame(f).name).join("\n"),
        click: () => { if (!this.opened.delete(key)) this.opened.add(key); this.draw(); },
      }, text),
      open && el("ul", {}, ...g.frames.map((f) => this.frame(f, false))));
  }

  frame(index, blamed) {
    const f = this.heap.frame(index);
    return el("li", { class: blamed ? "blamed" : null },
      el("bdi", { class: "function", tabindex: f.file ? "0" : null, "data-tip": fullPosition(f) || null }, f.name), " ",
      el("span", { class: "where", "data-tip": fullPosition(f) || null }, position(f.file, f.line) || (f.name.startsWith(`${f.module}+`) ? "" : f.module)),
      blamed ? el("span", { class: "tag" }, "attributed to this function") : null);
  }
}

// rowOf are an object and those below it that all of its blocks share.
function rowOf(first) {
  const row = [first];
  for (let n = first; n.nodes?.length === 1 && n.nodes[0].blocks === n.blocks;) row.push(n = n.nodes[0]);
  return row;
}

// count is the number of rows of ways.
const count = (list) => list.reduce((n, first) => n + 1 + count(rowOf(first).at(-1).nodes ?? []), 0);

const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
