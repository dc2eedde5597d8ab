// The data of the page: columns by leaf, sums by moment. This module does not use the document.
import { fullPosition } from "./format.js";

// load unpacks the model.
export async function load(base64) {
  const text = atob(base64.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Heap(JSON.parse(await new Response(stream).text()));
}

export class Heap {
  constructor(raw) {
    Object.assign(this, { raw, kinds: raw.kinds, moments: raw.moments, sites: raw.sites });
    this.parents = raw.tree.parents;
    this.nodeFunctions = raw.tree.functions;
    this.trees = [true, false].map((all) => tree(this, all));
    this.leafNodes = raw.leaves.nodes;
    this.leafSites = raw.leaves.sites;
    this.columns = {};
    for (const kind of raw.kinds) this.columns[kind] = raw.leaves.values[kind].map((d) => undelta(d, raw.moments.length));
    this.siteColumns = new Map();
    this.text = raw.functions.map((_, f) => `${this.functionName(f)}\n${this.functionModule(f)}`.toLowerCase());
    this.siteText = raw.sites.map((s) => `${s.title}\n${s.function}\n${s.where}\n${s.module}\n${s.file}`.toLowerCase());
  }

  functionName(f) { return this.raw.strings[this.raw.functions[f][0]]; }
  functionModule(f) { return this.raw.strings[this.raw.functions[f][1]]; }
  runtime(f) { return this.raw.strings[this.raw.runtimes[f]]; }

  // tree is the call tree, with all frames or with those of runtimes folded.
  tree(all) { return this.trees[all ? 0 : 1]; }

  // fold groups the frames of a call path, the allocating function first: each group is frames of one runtime, or has one frame.
  fold(path, all) {
    const run = path.frames.map((frame, i) => ({ frames: [frame], blamed: i === path.blame, runtime: i === path.blame || all ? "" : this.runtime(this.raw.frames[frame][0]) }));
    const outer = run.map((g) => g.runtime === "").lastIndexOf(true);
    const root = run.slice(outer + 1).reverse();
    const groups = [];
    for (const g of [...run.slice(0, outer + 1), ...nameRoot(root).reverse()]) {
      const last = groups[groups.length - 1];
      if (last && g.runtime !== "" && last.runtime === g.runtime) last.frames.push(...g.frames);
      else groups.push(g);
    }
    return groups;
  }

  // frame is a frame of a call path.
  frame(i) {
    const [f, file, line] = this.raw.frames[i];
    return { name: this.functionName(f), module: this.functionModule(f), file: this.raw.strings[file], line };
  }

  // describeNode is the name of a node of a tree, and where it is.
  describeNode({ functions, runtime, least, most, frame, several }) {
    if (runtime) return { name: runText(runtime, least, most), where: functions.map((f) => this.functionName(f)).join(" → ") };
    const module = this.functionModule(functions[0]);
    const place = frame < 0 ? "" : fullPosition(this.frame(frame)) + (several ? " and other lines" : "");
    return { name: this.functionName(functions[0]), where: [place, module].filter(Boolean).join(" · ") };
  }

  // total is the whole heap at a moment, as in the header of the snapshot.
  total(kind, moment) { return this.moments[moment][kind]; }

  // x is the time axis: seconds, bytes allocated or indices. It is indices if a restart makes the clock go back.
  get x() {
    if (!this.axis) {
      const at = this.moments.map((m) => m.at);
      this.axis = at.every((v, i) => i === 0 || v > at[i - 1]) ? at : at.map((_, i) => i);
    }
    return this.axis;
  }

  get isTime() { return this.raw.rate_per === "hour" && this.x[this.x.length - 1] === this.moments[this.moments.length - 1].at; }

  // modules are the modules of the sites.
  get modules() { return [...new Set(this.sites.map((s) => s.module).filter(Boolean))].sort(); }

  // keep reports for each leaf whether it passes a filter.
  keep({ query, labels, module, site }) {
    const needle = query.trim().toLowerCase();
    const hits = needle ? this.matches(needle) : null;
    const siteKept = this.sites.map((s, i) =>
      (site === null || site === i) && (labels.size === 0 || labels.has(s.label)) && (module === "" || s.module === module));
    return this.leafNodes.map((node, i) => {
      const s = this.leafSites[i];
      return siteKept[s] && (!hits || hits[node] === 1 || this.siteText[s].includes(needle));
    });
  }

  // matches marks the nodes whose function, or one of its callers, contains the text.
  matches(needle) {
    const functionHit = this.text.map((t) => t.includes(needle));
    const hit = new Uint8Array(this.parents.length);
    for (let n = 1; n < hit.length; n++) hit[n] = functionHit[this.nodeFunctions[n]] || hit[this.parents[n]] ? 1 : 0;
    return hit;
  }

  // siteColumn is the values of a site by moment, summed over the leaves that pass the filter.
  siteColumn(kind, site, keep = null) {
    const key = `${kind} ${site}`;
    if (!keep && this.siteColumns.has(key)) return this.siteColumns.get(key);
    const sum = new Float64Array(this.moments.length);
    this.leavesOf(site).forEach((leaf) => {
      if (!keep || keep[leaf]) add(sum, this.columns[kind][leaf]);
    });
    if (!keep) this.siteColumns.set(key, sum);
    return sum;
  }

  leavesOf(site) {
    if (!this.bySite) {
      this.bySite = this.sites.map(() => []);
      this.leafSites.forEach((s, leaf) => this.bySite[s].push(leaf));
    }
    return this.bySite[site];
  }

  // sum is the total of the leaves that pass the filter at a moment.
  sum(kind, moment, keep) {
    let sum = 0;
    this.columns[kind].forEach((c, leaf) => { if (keep[leaf]) sum += c[moment]; });
    return sum;
  }

  // flame returns the values of each node of a tree without its callees: the width, the signed change since a base moment,
  // and the family of verdicts with most of the memory of the node and its callees.
  flame(tree, kind, moment, base, keep, familyOfSite, families) {
    const n = tree.parents.length;
    const self = new Float64Array(n), net = new Float64Array(n);
    const by = families.map(() => new Float64Array(n));
    this.columns[kind].forEach((c, leaf) => {
      if (!keep[leaf]) return;
      const node = tree.of[this.leafNodes[leaf]];
      const v = base === null ? c[moment] : c[moment] - c[base];
      net[node] += v;
      self[node] += Math.abs(v);
      by[familyOfSite[this.leafSites[leaf]]][node] += Math.abs(v);
    });
    const total = Float64Array.from(self);
    for (let i = n - 1; i > 0; i--) {
      const p = tree.parents[i];
      total[p] += total[i];
      net[p] += net[i];
      for (const b of by) b[p] += b[i];
    }
    const top = new Uint8Array(n);
    for (let i = 0; i < n; i++) for (let f = 1; f < by.length; f++) if (by[f][i] > by[top[i]][i]) top[i] = f;
    return { self, total, net, top };
  }
}

// tree returns the nodes to show, callers first. of maps the nodes of the model to them. A node is a function, or, unless
// all are shown, some frames of one runtime: those before the first frame of other code, and successive ones elsewhere.
function tree(heap, all) {
  const { parents, functions, frames, several, blamed } = heap.raw.tree;
  const shown = new Set(blamed), more = new Set(several);
  const out = { parents: [-1], nodes: [{ functions: [functions[0]], frame: -1 }], of: [] };
  const known = new Map();
  const child = (parent, key, node) => {
    const full = `${parent} ${key}`;
    if (!known.has(full)) {
      known.set(full, out.parents.length);
      out.parents.push(parent);
      out.nodes.push(node());
    }
    return known.get(full);
  };
  const single = (parent, n) => {
    const at = child(parent, `f${functions[n]}`, () => ({ functions: [functions[n]], frame: frames[n], several: more.has(n) }));
    if (out.nodes[at].frame !== frames[n]) out.nodes[at].several = true;
    return at;
  };
  // place is the node of a run of frames of runtimes below a node.
  const place = ({ base, run }) => {
    const groups = [];
    const named = run.map((n) => ({ nodes: [n], runtime: heap.runtime(functions[n]) }));
    for (const g of base === 0 ? nameRoot(named) : named) {
      const last = groups[groups.length - 1];
      if (last?.runtime === g.runtime) last.nodes.push(...g.nodes);
      else groups.push(g);
    }
    for (const { nodes, runtime } of groups) {
      if (nodes.length === 1) {
        base = single(base, nodes[0]);
        continue;
      }
      base = child(base, `r${runtime}`, () => ({ functions: nodes.map((n) => functions[n]), runtime, least: nodes.length, most: nodes.length, frame: -1 }));
      const node = out.nodes[base];
      node.least = Math.min(node.least, nodes.length);
      node.most = Math.max(node.most, nodes.length);
    }
    return base;
  };
  const states = [{ base: 0, run: [] }];
  const needed = new Set(heap.raw.leaves.nodes);
  for (let n = 1; n < parents.length; n++) {
    const above = states[parents[n]];
    const folded = !all && !shown.has(n) && heap.runtime(functions[n]) !== "";
    states[n] = folded ? { base: above.base, run: [...above.run, n] } : { base: single(place(above), n), run: [] };
    if (needed.has(n)) out.of[n] = place(states[n]);
  }
  if (needed.has(0)) out.of[0] = 0;
  return out;
}

// nameRoot gives the frames before the first one of other code, outermost first, the name of one runtime: the C library, which
// starts every program, is a part of the start of others.
function nameRoot(groups) {
  const counts = new Map();
  for (const { runtime } of groups) if (runtime !== "the C library") counts.set(runtime, (counts.get(runtime) ?? 0) + 1);
  const [most] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? ["the C library"];
  return groups.map((g) => ({ ...g, runtime: most }));
}

// runText names frames of a runtime.
export const runText = (runtime, least, most = least) => `${least === most ? least : `${least} to ${most}`} frames of ${runtime}`;

function undelta(deltas, n) {
  const out = new Float64Array(n);
  let sum = 0;
  for (let i = 0; i < n; i++) {
    if (i < deltas.length) sum += deltas[i];
    out[i] = sum;
  }
  return out;
}

export function add(sum, column) {
  for (let i = 0; i < sum.length; i++) sum[i] += column[i];
}
