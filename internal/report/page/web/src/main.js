// Starts the page. The document already contains the findings as text; the script adds the interactive parts.
import { load } from "./model.js";
import { State, filterNames } from "./state.js";
import { read, write } from "./links.js";
import { Controls } from "./controls.js";
import { Timeline } from "./timeline.js";
import { Table } from "./table.js";
import { Flame } from "./flame.js";
import { Theme } from "./theme.js";
import { Keys } from "./keys.js";
import "./page.css";

const byId = (id) => document.getElementById(id);

async function start() {
  const heap = await load(byId("model").textContent);
  byId("model").remove(); // frees its memory
  const state = new State(read(location.hash, heap));
  const view = { keep: [] };
  const filter = () => { view.keep = heap.keep(state.values); };
  filter();
  state.on(filterNames, filter); // registered first, so that the parts see the new selection
  const parts = {};
  const theme = new Theme(byId("theme"), () => {
    parts.timeline?.draw();
    parts.flame?.update();
  });
  const controls = new Controls(byId("controls"), heap, state, view);
  parts.timeline = new Timeline(byId("timeline"), heap, state, view);
  parts.table = new Table(byId("table"), heap, state, view);
  parts.flame = new Flame(byId("flame"), heap, state, view);
  const keys = new Keys({ state, controls, theme, dialog: byId("help") });
  byId("help-open").addEventListener("click", () => keys.dialog.showModal());
  follow(state, heap);
  document.documentElement.dataset.milliseconds = Math.round(performance.now()); // since navigation began
  document.documentElement.dataset.ready = "true";
}

// follow keeps the address and the state in step.
function follow(state, heap) {
  state.on(Object.keys(state.values), () => {
    const hash = write(state.values, heap);
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  });
  addEventListener("hashchange", () => state.set(read(location.hash, heap)));
}

function fail(error) {
  const box = byId("failure");
  box.hidden = false;
  box.textContent = typeof DecompressionStream === "undefined"
    ? "This browser is too old for the charts, which need Chrome 80, Firefox 113 or Safari 16.4. The findings above are complete."
    : `The charts cannot be shown: ${error.message}. The findings above are complete; ${box.dataset.instead} writes them together with the table.`;
  document.documentElement.dataset.ready = "failed";
}

start().catch(fail);
