// A server that keeps the upload of every request. LEAK=0 keeps none. The cache is full after one second. Run it with
// --expose-gc: Buffers are freed when garbage is collected, which is too seldom for twelve seconds.
const uploads = [];
const pages = new Array(128);
const leak = process.env.LEAK !== '0';
let requests = 0;

function receive() {
  uploads.push(Buffer.alloc(48 * 1024, 'u'));
}

function render(request) {
  pages[request % pages.length] = Buffer.alloc(64 * 1024, 'p');
}

function handle() {
  receive();
  render(requests++);
  if (!leak) uploads.pop();
}

const timers = [setInterval(handle, 8), setInterval(global.gc, 250)];
setTimeout(() => timers.forEach(clearInterval), 12000);
