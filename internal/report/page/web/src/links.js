// Deep links: location.hash contains the selection, so that a link shows the same view.
import { noFilter } from "./state.js";

// read returns the values of a hash. Values that are not valid for this page get their defaults.
export function read(hash, heap) {
  const p = new URLSearchParams(hash.replace(/^#/, ""));
  const last = heap.moments.length - 1;
  const number = (name, most) => {
    const v = p.get(name);
    return v !== null && /^\d+$/.test(v) && Number(v) <= most ? Number(v) : null;
  };
  const known = new Set(heap.sites.map((s) => s.label));
  const out = { ...noFilter(), moment: number("t", last) ?? defaultMoment(heap), base: number("base", last) };
  out.kind = heap.kinds.includes(p.get("kind")) ? p.get("kind") : heap.kinds[0];
  out.query = p.get("q") ?? "";
  out.labels = new Set((p.get("label") ?? "").split(",").filter((l) => known.has(l)));
  out.module = heap.modules.includes(p.get("module")) ? p.get("module") : "";
  out.site = number("site", heap.sites.length - 1);
  out.rising = p.get("flame") === "up";
  out.frames = p.get("frames") === "all";
  out.zoom = number("zoom", heap.tree(out.frames).parents.length - 1) ?? 0;
  out.sort = /^-?[a-z]+$/.test(p.get("sort") ?? "") ? p.get("sort") : "rank";
  return out;
}

// defaultMoment is the last judged moment.
export const defaultMoment = (heap) => heap.raw.judged[1];

// readProcess returns the index of the process that a hash selects, of n; 0 unless it is valid.
export function readProcess(hash, n) {
  const v = Number(new URLSearchParams(hash.replace(/^#/, "")).get("process") ?? 1);
  return Number.isInteger(v) && v >= 1 && v <= n ? v - 1 : 0;
}

// write returns the hash of values of a process, without those that have their defaults.
export function write(s, heap, process) {
  const p = new URLSearchParams();
  if (process > 0) p.set("process", process + 1);
  if (s.moment !== defaultMoment(heap)) p.set("t", s.moment);
  if (s.base !== null) p.set("base", s.base);
  if (s.kind !== heap.kinds[0]) p.set("kind", s.kind);
  if (s.query) p.set("q", s.query);
  if (s.labels.size) p.set("label", [...s.labels].sort().join(","));
  if (s.module) p.set("module", s.module);
  if (s.site !== null) p.set("site", s.site);
  if (s.zoom) p.set("zoom", s.zoom);
  if (s.rising) p.set("flame", "up");
  if (s.frames) p.set("frames", "all");
  if (s.sort !== "rank") p.set("sort", s.sort);
  return p.toString();
}
