// The program whose perf maps and jitdumps are the fixtures of this directory; see README.md.
function hot(n) {
  let s = 0;
  for (let i = 0; i < n; i++) s += i % 7;
  return s;
}
class Tracker {
  #total = 0;
  record(x) { this.#total += x; return x * 2; }
  get size() { return this.#total; }
  "two words"(x) { return x + 1; }
}
const tracker = new Tracker();
let t = 0;
for (let i = 0; i < 2000; i++) {
  t += hot(20000) + tracker.record(i) + tracker.size + tracker["two words"](i);
  /a(b|c)+d \d/.test("xxabcbcd 5" + i);
  [3, 1, 2].map((x) => x * i);
}
(0, eval)("function evaled(a) { let r = 0; for (let i = 0; i < a; i++) r += i; return r; } for (let i = 0; i < 500; i++) evaled(1000);");
require("vm").runInThisContext("function inVM(a) { let r = 0; for (let i = 0; i < a; i++) r += i; return r; } for (let i = 0; i < 500; i++) inVM(1000);", "my file.js");
// WebAssembly: (module (func (export "inc") (param i32) (result i32) (i32.add (local.get 0) (i32.const 1))))
const wasm = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 105, 110, 99, 0, 0, 10, 9, 1, 7, 0, 32, 0, 65, 1, 106, 11,
])));
for (let i = 0; i < 4e6; i++) t += wasm.exports.inc(i);
const fs = require("fs"), map = "/tmp/perf-" + process.pid + ".map";
fs.copyFileSync(map, "perf.map");
fs.unlinkSync(map);
