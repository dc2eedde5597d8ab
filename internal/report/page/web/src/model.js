// The data of the page: columns by leaf, sums by moment. This module does not use the document.

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
  nodeName(n) { return this.functionName(this.nodeFunctions[n]); }

  // frame is a frame of a call path.
  frame(i) {
    const [f, file, line] = this.raw.frames[i];
    return { name: this.functionName(f), module: this.functionModule(f), file: this.raw.strings[file], line };
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

  // flame returns the values of each node without its callees: the width, the signed change since a base moment, and
  // the family of verdicts with most of the memory of the node and its callees.
  flame(kind, moment, base, keep, familyOfSite, families) {
    const n = this.parents.length;
    const self = new Float64Array(n), net = new Float64Array(n);
    const by = families.map(() => new Float64Array(n));
    this.columns[kind].forEach((c, leaf) => {
      if (!keep[leaf]) return;
      const node = this.leafNodes[leaf];
      const v = base === null ? c[moment] : c[moment] - c[base];
      net[node] += v;
      self[node] += Math.abs(v);
      by[familyOfSite[this.leafSites[leaf]]][node] += Math.abs(v);
    });
    const total = Float64Array.from(self);
    for (let i = n - 1; i > 0; i--) {
      const p = this.parents[i];
      total[p] += total[i];
      net[p] += net[i];
      for (const b of by) b[p] += b[i];
    }
    const top = new Uint8Array(n);
    for (let i = 0; i < n; i++) for (let f = 1; f < by.length; f++) if (by[f][i] > by[top[i]][i]) top[i] = f;
    return { self, total, net, top };
  }
}

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
