// Fills and replaces a map of objects, strings and Buffers, writes JSON, and compresses.
let kept = [];
for (let round = 0; round < 4; round++) {
	const map = new Map();
	for (let i = 0; i < 200000; i++) map.set("k" + i, {i, s: "x" + i, b: i % 50 === 0 ? Buffer.alloc(3000) : null});
	kept = map;
}
console.log(JSON.stringify([...kept.keys()]).length);
for (let i = 0; i < 60; i++) require("zlib").deflateSync(Buffer.alloc(300000, i));
