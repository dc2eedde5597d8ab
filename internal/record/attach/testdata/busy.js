// Allocates and checks buffers and strings, until SIGTERM.
let stop = false;
process.on('SIGTERM', () => { stop = true; });
const table = new Map();
let n = 1;
function step() {
  for (let i = 0; i < 2000; i++) {
    n = (n * 1103515 + 12345) % 2147483647;
    const key = n % 256;
    const old = table.get(key);
    if (old && (old.text !== String(old.n).repeat(20) || old.buffer[100] !== old.n % 251)) {
      console.error('data is wrong');
      process.abort();
    }
    table.set(key, {n, text: String(n).repeat(20), buffer: Buffer.alloc(20000, n % 251)});
  }
  if (stop) {
    console.log('done');
    process.exit(0);
  }
  setImmediate(step);
}
console.log('ready');
step();
