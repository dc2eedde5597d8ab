// The service of service.py in JavaScript: service.js KIND CAP
// heaplapse names the line where a function begins. The memory of "objects" is in V8's heap, which has no lines.
const { EventEmitter } = require('node:events');
const readline = require('node:readline');

const [kind, cap] = [process.argv[2], Number(process.argv[3])];
const held = new Map();
const recent = new Map();
const clock = new EventEmitter().setMaxListeners(0);

function makeBuffer(key, size) { // leak: map
  return { key, body: Buffer.alloc(size + 512, 'x') };
}

function makeClosure(key, size) { // leak: closure
  const body = new Uint8Array(size + 512);
  return () => [key, body];
}

function makeListener(key, size) { // leak: listener
  const body = Buffer.alloc(size + 512, 'x');
  return () => body.length + key;
}

function makeObjects(key, size) {
  return Array.from({ length: size / 32 + 1 }, (_, i) => ({ key, i }));
}

const make = { map: makeBuffer, closure: makeClosure, listener: makeListener, objects: makeObjects }[kind];

function keep(key, size) {
  const thing = make(key, size);
  held.set(key, kind === 'listener' ? null : thing);
  if (kind === 'listener') {
    clock.on(`tick ${key}`, thing);
  }
  if (cap > 0) release(key - cap);
}

function release(key) {
  held.delete(key);
  clock.removeAllListeners(`tick ${key}`);
}

function note(slot, size) {
  recent.set(slot, Buffer.alloc(size + 512, 'r'));
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const [op, a, b] = line.split(' ');
  if (op === 'k') keep(Number(a), Number(b));
  if (op === 't') make(0, Number(a));
  if (op === 'd') release(Number(a));
  if (op === 'b') note(Number(a), Number(b));
}).on('close', () => process.exit(0));
