// A service that leaks Buffers, for a recording under tcmalloc.
//
// Truth, per second of wall-clock time:
//
//   LEAK   leakBuffers: Buffer.allocUnsafeSlow(4096), 100 times a second, kept
//          in an array for ever: 400 KiB/s (of native memory; the array itself
//          is in V8's heap, which malloc does not see).
//   CACHE  cachePage: a Map of at most 96 buffers of 64 KiB (6 MiB), full after
//          8 s, after which the oldest leaves when one comes. Garbage collection
//          decides when it is freed, so the curve is noisy, but bounded.
//   CHURN  parseRecords: JSON and strings, nothing kept.
'use strict';

const kept = [];

function leakBuffers(n) {
  const b = Buffer.allocUnsafeSlow(4096);
  b.writeUInt32LE(n, 0);
  kept.push(b);
  return b;
}

const pages = new Map();

function cachePage(n) {
  const page = Buffer.allocUnsafeSlow(65536);
  page.fill(n & 255);
  pages.set(n, page);
  if (pages.size > 96) pages.delete(pages.keys().next().value);
  return page;
}

function parseRecords(n) {
  const list = [];
  for (let i = 0; i < 20; i++) {
    list.push({ id: n * 20 + i, name: 'record ' + i, tags: ['a', 'b', String(n)] });
  }
  const again = JSON.parse(JSON.stringify(list));
  return again.filter((r) => r.id % 3 === 0).map((r) => r.name.toUpperCase()).join(',').length;
}

let tick = 0;
const start = process.hrtime.bigint();

function onTick() {
  const due = Number((process.hrtime.bigint() - start) / 10000000n); // 100 a second
  while (tick < due) {
    tick++;
    leakBuffers(tick);
    if (tick % 8 === 0) cachePage(tick / 8);
    if (tick % 4 === 0) parseRecords(tick);
  }
}

setInterval(onTick, 10);

// Buffers live outside V8's heap; without this the young generation is rarely
// collected in so small a program and dead pages would stay.
if (global.gc) setInterval(() => global.gc(), 1000);
