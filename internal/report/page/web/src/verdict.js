// The look of verdicts: families, each with a colour and a mark, so that no meaning depends on colour alone.
import { el, token } from "./dom.js";

const families = {
  leak: { mark: "▲", text: "leaks" },
  suspect: { mark: "◆", text: "suspect" },
  fills: { mark: "◐", text: "filling or full" },
  load: { mark: "↗", text: "follows the load" },
  quiet: { mark: "■", text: "stable, shrinking, irregular, too few points" },
  other: { mark: "…", text: "grouped or unknown" },
};

const familyOf = {
  leak: "leak", "leak-late": "leak",
  suspect: "suspect",
  loading: "fills", warming: "fills", plateaued: "fills", "grew-then-flat": "fills",
  "load-driven": "load",
  irregular: "quiet", shrinking: "quiet", stable: "quiet", insufficient: "quiet",
};

export const family = (label) => familyOf[label] ?? "other";
export const familyNames = Object.keys(families);
export const familyText = (name) => families[name].text;
export const mark = (name) => families[name].mark;

// color is the colour of a family; shade, 0 to 3, distinguishes neighbours of one family.
export const color = (name, shade = 0) => token(`--${name}-${shade % 4}`);

// badge is a verdict with its mark, in an element with attributes. The verdict in words has the chance of a leak.
export function badge(site, tag = "span", attributes = {}) {
  const name = family(site.label);
  return el(tag, { ...attributes, class: `verdict ${name}` }, el("span", { class: "mark", "aria-hidden": "true" }, mark(name)), site.verdict ?? site.label);
}
