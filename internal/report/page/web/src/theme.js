// The theme: that of the system unless the reader chooses one. Printing uses the light theme.
import { forgetTokens } from "./dom.js";

export class Theme {
  constructor(button, redraw) {
    this.redraw = redraw;
    this.system = matchMedia("(prefers-color-scheme: dark)");
    this.system.addEventListener("change", () => this.apply());
    button.addEventListener("click", () => this.toggle());
    addEventListener("beforeprint", () => this.apply("light"));
    addEventListener("afterprint", () => this.apply());
    this.apply();
  }

  toggle() {
    this.chosen = (this.chosen ?? this.ofSystem()) === "dark" ? "light" : "dark";
    this.apply();
  }

  ofSystem() { return this.system.matches ? "dark" : "light"; }

  apply(theme = this.chosen ?? this.ofSystem()) {
    document.documentElement.dataset.theme = theme;
    forgetTokens();
    this.redraw();
  }
}
