// leakBuffers keeps memory outside V8's heap, for argv[2] milliseconds.
const kept = [];
function leakBuffers() {
  kept.push(Buffer.allocUnsafeSlow(40_000).fill(1));
  for (let i = 0; i < 20; i++) Buffer.allocUnsafeSlow(20_000);
}
const end = Date.now() + Number(process.argv[2]);
const timer = setInterval(() => {
  leakBuffers();
  if (Date.now() > end) clearInterval(timer);
}, 3);
