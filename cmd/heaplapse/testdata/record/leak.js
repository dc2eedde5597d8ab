// leakBuffers keeps memory outside V8's heap. It is called for argv[2] milliseconds, and 200 times for each second of them where the
// machine is too busy for that.
const kept = [];
function leakBuffers() {
  kept.push(Buffer.allocUnsafeSlow(40_000).fill(1));
  for (let i = 0; i < 20; i++) Buffer.allocUnsafeSlow(20_000);
}
const duration = Number(process.argv[2]), end = Date.now() + duration;
const timer = setInterval(() => {
  leakBuffers();
  if (Date.now() > end && kept.length >= duration / 5) clearInterval(timer);
}, 3);
