// Printing: parts that are drawn to the width of the window are drawn again for paper, and afterwards for the screen.

// paperWidth is the width of A4 and Letter between usual margins, in CSS pixels. Wider content is clipped, or the browser shrinks the whole page.
export const paperWidth = 700;

// whenPrinted calls a listener before and after printing, until the signal.
export function whenPrinted(tell, signal) {
  addEventListener("beforeprint", () => tell(true), { signal });
  addEventListener("afterprint", () => tell(false), { signal });
}

// whenResized calls a listener when the size of an element changes, until the signal.
export function whenResized(element, tell, signal) {
  const observer = new ResizeObserver(tell);
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect());
}
