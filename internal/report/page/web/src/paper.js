// Paper: what is drawn to measure is drawn again for a printer, and once more afterwards for the screen.

// paperWidth is the width of A4 and of Letter between their usual margins, in CSS pixels. What is wider makes a browser shrink the whole page, or is cut.
export const paperWidth = 700;

// whenPrinted tells a part that it is for paper, and that it no longer is.
export function whenPrinted(tell) {
  addEventListener("beforeprint", () => tell(true));
  addEventListener("afterprint", () => tell(false));
}
