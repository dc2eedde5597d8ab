// Printing: parts that are drawn to the width of the window are drawn again for paper, and afterwards for the screen.

// paperWidth is the width of A4 and Letter between usual margins, in CSS pixels. Wider content is clipped, or the browser shrinks the whole page.
export const paperWidth = 700;

// whenPrinted calls a listener before and after printing.
export function whenPrinted(tell) {
  addEventListener("beforeprint", () => tell(true));
  addEventListener("afterprint", () => tell(false));
}
