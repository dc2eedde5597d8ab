// A server on PORT: every POST registers a listener that holds the body.
//
//   node_listeners.js PORT leak   LEAK: subscribe adds a listener of each request to one emitter, and nothing removes it: its
//                                 body of 4 KiB is native memory.
//   node_listeners.js PORT once   no leak: the listener is removed when the request has been answered.
'use strict';
const http = require('http');
const EventEmitter = require('events');

const [port, mode] = process.argv.slice(2);
const bus = new EventEmitter();
bus.setMaxListeners(0);

function subscribe(body) {
  const copy = Buffer.allocUnsafeSlow(body.length);
  body.copy(copy);
  const listener = () => copy.length;
  bus.on('message', listener);
  return listener;
}

http.createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const listener = subscribe(Buffer.concat(parts));
    response.end('{}');
    if (mode === 'once') bus.off('message', listener);
  });
}).listen(Number(port), '127.0.0.1');

if (global.gc) setInterval(() => global.gc(), 1000);
