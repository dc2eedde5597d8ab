// The keyboard: the actions of keys. The help panel lists them.
import { noFilter } from "./state.js";

export class Keys {
  // parts are those of the process that is shown.
  constructor(parts, theme, dialog) {
    Object.assign(this, { parts, theme, dialog });
    document.addEventListener("keydown", (e) => this.press(e));
  }

  press(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || this.dialog.open || !this.parts.state) return;
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
    const { state, controls } = this.parts;
    const step = (by) => () => controls.step(name, by);
    const onButton = e.target.matches("button, a, summary");
    switch (e.key) {
      case "ArrowLeft": return step(-1);
      case "ArrowRight": return step(1);
      case "PageUp": return e.target.matches("input[type=range]") ? step(-10) : null;
      case "PageDown": return e.target.matches("input[type=range]") ? step(10) : null;
      case "Home": return e.target.matches("input[type=range], body") ? step(-Infinity) : null;
      case "End": return e.target.matches("input[type=range], body") ? step(Infinity) : null;
      case " ": return onButton ? null : () => controls.toggle();
      case "/": return () => controls.query.focus();
      case "d": return () => controls.toggleBase();
      case "i": return () => state.set({ rising: !state.get("rising") });
      case "r": return () => state.toggleFrames();
      case "t": return () => this.theme.toggle();
      case "?": return () => this.dialog.showModal();
    }
    return null;
  }

  escape(e) {
    if (e.target.matches("input[type=search]")) e.target.blur();
    this.parts.state.set({ ...noFilter(), zoom: 0 });
  }
}
