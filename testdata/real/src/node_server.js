// A server on PORT: each POST's body of 4 KiB is copied into a Buffer of its own and answered.
//
//   node_server.js PORT keep     LEAK: the Buffers stay in a Map by request number (native memory; the Map itself is in V8's heap)
//   node_server.js PORT drop     NO LEAK: a Map of the last 600, full after some 15 s (2.4 MiB)
'use strict';
const http = require('http');

const [port, mode] = process.argv.slice(2);
const requests = new Map();
let number = 0;

function remember(body) {
  const copy = Buffer.allocUnsafeSlow(body.length);
  body.copy(copy);
  requests.set(++number, copy);
  if (mode === 'drop') requests.delete(number - 600);
}

http.createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    remember(Buffer.concat(parts));
    response.end(JSON.stringify({ number }));
  });
}).listen(Number(port), '127.0.0.1');

if (global.gc) setInterval(() => global.gc(), 1000);
