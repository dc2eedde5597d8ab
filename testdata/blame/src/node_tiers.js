// LEAK: buffers of 1 KiB that stay in an array, 300 a second: 300 KiB/s of native memory. keep is called until V8
// has compiled it and then inlined it into its caller.
'use strict';

const kept = [];

function keep(n) {
  const copy = Buffer.allocUnsafeSlow(1024);
  copy.writeUInt32LE(n >>> 0, 0);
  kept.push(copy);
  return copy.length;
}

function scratch(n) {
  return [n, String(n)].join('-').length;
}

function handle(n) {
  let sum = 0;
  for (let i = 0; i < 2000; i++) sum += scratch(n + i);
  return sum + keep(n);
}

let number = 0;
const start = Date.now();

function onTick() {
  const due = (Date.now() - start) * 0.3;
  while (number < due) handle(number++);
}

setInterval(onTick, 10);
if (global.gc) setInterval(() => global.gc(), 2000);
