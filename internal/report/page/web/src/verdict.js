// What verdicts look like: five families, each with a colour and a mark, so that colour never stands alone.
import { el, token } from "./dom.js";

const families = {
  leak: { mark: "▲", text: "leaks" },
  suspect: { mark: "◆", text: "suspect" },
  fills: { mark: "◐", text: "fills up or has" },
  load: { mark: "↗", text: "follows the load" },
  quiet: { mark: "■", text: "stable, shrinking, too few points" },
  other: { mark: "…", text: "put together, or not known" },
};

const familyOf = {
  leak: "leak", "leak-late": "leak", suspect: "suspect", warming: "fills", plateaued: "fills", "grew-then-flat": "fills",
  "load-driven": "load", shrinking: "quiet", stable: "quiet", insufficient: "quiet",
};

export const family = (label) => familyOf[label] ?? "other";
export const familyNames = Object.keys(families);
export const familyText = (name) => families[name].text;
export const mark = (name) => families[name].mark;

// color is that of a family; shade tells neighbours of one family apart, 0 to 3.
export const color = (name, shade = 0) => token(`--${name}-${shade % 4}`);

// badge is a verdict in words, with its mark.
export function badge(site) {
  const name = family(site.label);
  const sure = name === "leak" || name === "suspect" ? ` ${Math.round(100 * site.confidence)} %` : "";
  return el("span", { class: `verdict ${name}` }, el("span", { class: "mark", "aria-hidden": "true" }, mark(name)), site.label + sure);
}
