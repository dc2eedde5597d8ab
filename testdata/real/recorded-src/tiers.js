// A service whose functions V8 first interprets, then compiles, then optimizes.
//
//   tiers.js leak    LEAK: keepOrder keeps a Buffer of 2 KiB of each of 50 orders a second: 100 KiB/s of native memory.
//   tiers.js cache   no leak: it keeps the last 800.
'use strict';

const leaks = process.argv[2] === 'leak';
const orders = [];

function keepOrder(n) {
  const order = Buffer.allocUnsafeSlow(2048);
  order.fill(n & 255);
  orders.push(order);
  if (!leaks && orders.length > 800) orders.shift();
  return order;
}

function total(n) {
  let sum = 0;
  for (let i = 0; i < 20000; i++) sum = (sum * 31 + ((n * i) & 1023)) % 1000003;
  return sum;
}

function parse(n) {
  const lines = [];
  for (let i = 0; i < 30; i++) lines.push({ id: n * 30 + i, name: `item ${i}`, price: total(n + i) % 97 });
  return JSON.parse(JSON.stringify(lines)).filter((l) => l.price > 10).length;
}

let n = 0;
const start = process.hrtime.bigint();

function tick() {
  const due = Number((process.hrtime.bigint() - start) / 20000000n);
  while (n < due) {
    n++;
    keepOrder(n);
    if (n % 5 === 0) parse(n);
  }
}

setInterval(tick, 20);
if (global.gc) setInterval(() => global.gc(), 1000);
