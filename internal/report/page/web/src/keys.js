// The keyboard: the actions of keys, and the list of keys.
import { el } from "./dom.js";
import { noFilter } from "./state.js";

const keys = [
  ["← →", "previous or next moment (with Shift: the one to compare with; Page Up, Page Down: ten moments; Home, End: first, last)"],
  ["Space", "play or pause"],
  ["d", "show the difference between two moments, or stop"],
  ["/", "search"],
  ["Esc", "clear the filter and the zoom"],
  ["i", "turn the call tree: callers at the top or at the bottom"],
  ["t", "light or dark theme"],
  ["?", "show this list"],
  ["Enter", "zoom to the frame; the arrow keys move between frames"],
];

export class Keys {
  constructor({ state, controls, theme, dialog }) {
    Object.assign(this, { state, controls, theme, dialog });
    dialog.append(el("h2", { id: "help-title" }, "Keys and hints"),
      el("dl", { class: "keys" }, ...keys.flatMap(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)])),
      el("p", {}, "Click a site in the table or beside the chart to filter the whole page. The address of this page contains your selection, so you can share it as a link. ",
        "docs/report.md and the README explain the verdicts."),
      el("form", { method: "dialog" }, el("button", { autofocus: true }, "Close")));
    document.addEventListener("keydown", (e) => this.press(e));
  }

  press(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || this.dialog.open) return;
    const typing = e.target.matches("input[type=search], textarea, select");
    if (e.key === "Escape") return this.escape(e);
    if (typing) return;
    const action = this.action(e);
    if (!action) return;
    e.preventDefault();
    action();
  }

  action(e) {
    const name = e.shiftKey ? "base" : "moment";
    const step = (by) => () => this.controls.step(name, by);
    const onButton = e.target.matches("button, a, summary");
    switch (e.key) {
      case "ArrowLeft": return step(-1);
      case "ArrowRight": return step(1);
      case "PageUp": return e.target.matches("input[type=range]") ? step(-10) : null;
      case "PageDown": return e.target.matches("input[type=range]") ? step(10) : null;
      case "Home": return e.target.matches("input[type=range], body") ? step(-Infinity) : null;
      case "End": return e.target.matches("input[type=range], body") ? step(Infinity) : null;
      case " ": return onButton ? null : () => this.controls.toggle();
      case "/": return () => this.controls.query.focus();
      case "d": return () => this.controls.toggleBase();
      case "i": return () => this.state.set({ rising: !this.state.get("rising") });
      case "t": return () => this.theme.toggle();
      case "?": return () => this.dialog.showModal();
    }
    return null;
  }

  escape(e) {
    if (e.target.matches("input[type=search]")) e.target.blur();
    this.state.set({ ...noFilter(), zoom: 0 });
  }
}
