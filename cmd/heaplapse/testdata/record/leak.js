// leakBuffers keeps memory outside V8's heap and frees ten times as much. The program ends when the
// file $STOP exists, after 200 calls at least.
const fs = require("fs");
const kept = [];
function leakBuffers() {
  kept.push(Buffer.allocUnsafeSlow(40_000).fill(1));
  for (let i = 0; i < 20; i++) Buffer.allocUnsafeSlow(20_000);
}
setTimeout(() => process.exit(1), 300_000).unref(); // in case the file is never created
console.log("ready");
const timer = setInterval(() => {
  leakBuffers();
  if (kept.length >= 200 && fs.existsSync(process.env.STOP)) clearInterval(timer);
}, 3);
