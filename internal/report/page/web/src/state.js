// The selection. Parts of the page change it with set; listeners are called with what changed.

export class State {
  constructor(initial) {
    this.values = initial;
    this.listeners = [];
  }

  get(name) { return this.values[name]; }

  // set changes values and calls the listeners with the names of those that differ.
  set(patch) {
    const changed = new Set();
    for (const [name, value] of Object.entries(patch)) {
      if (!same(this.values[name], value)) {
        this.values[name] = value;
        changed.add(name);
      }
    }
    if (changed.size > 0) for (const listener of this.listeners) listener(changed);
  }

  // toggleFrames shows the frames of runtimes, or folds them. The call tree has other nodes then, so the zoom ends.
  toggleFrames() { this.set({ frames: !this.get("frames"), zoom: 0 }); }

  // on registers a listener for changes of some values.
  on(names, listener) {
    this.listeners.push((changed) => { if (names.some((n) => changed.has(n))) listener(); });
  }
}

function same(a, b) {
  if (a instanceof Set && b instanceof Set) return a.size === b.size && [...a].every((v) => b.has(v));
  return a === b;
}

// filterNames are the values that select leaves.
export const filterNames = ["query", "labels", "module", "site"];

export const noFilter = () => ({ query: "", labels: new Set(), module: "", site: null });
