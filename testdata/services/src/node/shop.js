// A shop that leaks on purpose, and writes its heap profile every two seconds with @datadog/pprof:
//
//   node --expose-gc shop.js DIRECTORY PROFILES [quiet]
//
// Truth, at 200 requests a second:
//
//   LEAK  openSession   a Map of sessions that never end: 80/s of some 1.5 KiB
//   LEAK  listen        a listener per request on one emitter, with what its closure keeps: 40/s of some 2 KiB
//   LEAK  remind        an interval per request that is never cleared: 40/s of some 2 KiB
//   LEAK  upload        Buffers of 4 KiB in an array, 20/s; V8 shows all Buffers as (external)
//   CACHE renderPage    a Map of at most 500 pages of some 6 KiB, full after a third of the run
//   CHURN readOrder     JSON, nothing kept
//
// A quiet shop has the same functions and ends its sessions, listeners and intervals, and keeps the last
// 50 Buffers. The requests go through a table of functions, because V8 attributes what a function
// allocates to its caller once it is compiled into the caller.
'use strict';
const fs = require('fs');
const path = require('path');
const { EventEmitter } = require('events');
const { heap, encode } = require('@datadog/pprof');

const [directory, profiles, mode] = process.argv.slice(2);
const quiet = mode === 'quiet';

let seed = 1;
function random(n) {
  seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  return (seed >> 8) % n;
}

function readOrder(id) {
  const lines = [];
  for (let i = 0; i < 20; i++) lines.push({ article: random(10000), count: 1 + random(9) });
  return JSON.parse(JSON.stringify({ id, lines }));
}

const sessions = new Map();

function openSession(id) {
  const basket = [];
  for (let i = 0; i < 24; i++) basket.push({ article: i, price: id + i / 7 });
  sessions.set(id, { id, basket });
  if (quiet) sessions.delete(id - 500);
}

const news = new EventEmitter();
news.setMaxListeners(0);

function listen(id) {
  const seen = new Array(240).fill(id);
  const listener = (item) => seen.push(item);
  news.on('item', listener);
  if (quiet) news.off('item', listener);
}

function remind(id) {
  const basket = new Array(240).fill(id);
  const interval = setInterval(() => basket.reverse(), 3600 * 1000);
  if (quiet) clearInterval(interval);
}

const uploads = [];

function upload(id) {
  const b = Buffer.allocUnsafeSlow(4096);
  b.writeUInt32LE(id, 0);
  uploads.push(b);
  if (quiet && uploads.length > 50) uploads.shift();
}

const pages = new Map();

function renderPage() {
  const id = random(8000);
  if (pages.has(id)) return;
  const cells = new Array(750);
  for (let i = 0; i < cells.length; i++) cells[i] = id + i;
  pages.set(id, cells);
  if (pages.size > 500) pages.delete(pages.keys().next().value);
}

const routes = [
  openSession, listen, openSession, remind, openSession, upload, openSession, listen, renderPage, remind,
];

function handle(id) {
  readOrder(id);
  routes[id % routes.length](id);
}

async function writeProfile(n) {
  global.gc();
  const name = path.join(directory, `heap.${String(n).padStart(4, '0')}.pb.gz`);
  fs.writeFileSync(name + '.part', await encode(heap.profile()));
  fs.renameSync(name + '.part', name);
}

heap.start(64 * 1024, 64);
const start = Date.now();
let done = 0;
let written = 0;

async function tick() {
  const due = Math.floor((Date.now() - start) / 5);
  while (done < due) handle(done++);
  if (Date.now() - start >= (written + 1) * 2000) {
    await writeProfile(++written);
    if (written === Number(profiles)) process.exit(0);
  }
  setTimeout(tick, 10);
}

tick();
