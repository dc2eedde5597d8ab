// Starts the page. The document already contains the findings as text; the script adds the interactive parts.
import { load } from "./model.js";
import { State, filterNames } from "./state.js";
import { read, readProcess, write } from "./links.js";
import { Controls } from "./controls.js";
import { Timeline } from "./timeline.js";
import { Table } from "./table.js";
import { Flame } from "./flame.js";
import { Theme } from "./theme.js";
import { Keys } from "./keys.js";
import { showTips } from "./tip.js";
import "./page.css";

const byId = (id) => document.getElementById(id);

// Page shows one of the processes at a time.
class Page {
  constructor() {
    this.packed = [...document.querySelectorAll("script.model")].map((s) => {
      s.remove(); // frees its memory
      return s.textContent;
    });
    this.parts = {};
    this.theme = new Theme(byId("theme"), () => {
      this.parts.timeline?.draw();
      this.parts.flame?.update();
    });
    new Keys(this.parts, this.theme, byId("help"));
    byId("help-open").addEventListener("click", () => byId("help").showModal());
    for (const badge of document.querySelectorAll("h1 .badge")) badge.addEventListener("click", () => explain(badge));
    showTips(byId("tip"));
  }

  // open shows the process that the address selects.
  async open() {
    const process = readProcess(location.hash, this.packed.length);
    const heap = await load(this.packed[process]);
    if (process !== readProcess(location.hash, this.packed.length)) return; // another one was chosen meanwhile
    this.shown?.abort();
    this.shown = new AbortController();
    for (const e of document.querySelectorAll("[data-process]")) e.hidden = Number(e.dataset.process) !== process;
    for (const row of document.querySelectorAll("[data-opens]")) row.classList.toggle("chosen", Number(row.dataset.opens) === process + 1);
    const state = new State(read(location.hash, heap));
    const view = { keep: [], signal: this.shown.signal };
    const filter = () => { view.keep = heap.keep(state.values); };
    filter();
    state.on(filterNames, filter); // registered first, so that the parts see the new selection
    const host = (id) => {
      byId(id).replaceChildren();
      return byId(id);
    };
    this.process = process;
    Object.assign(this.parts, {
      state,
      controls: new Controls(host("controls"), heap, state, view),
      timeline: new Timeline(host("timeline"), heap, state, view),
      table: new Table(host("table"), heap, state, view),
      flame: new Flame(host("flame"), heap, state, view),
    });
    this.follow(state, heap, view.signal);
  }

  // follow keeps the address and the state in step.
  follow(state, heap, signal) {
    state.on(Object.keys(state.values), () => {
      const hash = write(state.values, heap, this.process);
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    });
    addEventListener("hashchange", () => {
      if (readProcess(location.hash, this.packed.length) !== this.process) return this.open().catch(fail);
      state.set(read(location.hash, heap));
    }, { signal });
  }
}

// explain shows or hides the meaning of the verdict in a heading.
function explain(badge) {
  const text = badge.closest("[data-process]").querySelector(".meaning");
  text.hidden = !text.hidden;
  badge.setAttribute("aria-expanded", String(!text.hidden));
}

async function start() {
  await new Page().open();
  document.documentElement.dataset.milliseconds = Math.round(performance.now()); // since navigation began
  document.documentElement.dataset.ready = "true";
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
