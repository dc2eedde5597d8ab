// Bundles src/ into one script and one style, and gathers the licences of what is in them.
// Usage: node build.mjs OUTDIR
import { build } from "esbuild";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const out = process.argv[2];
if (!out) throw new Error("usage: node build.mjs OUTDIR");
mkdirSync(out, { recursive: true });

const result = await build({
  entryPoints: { page: "src/main.js" },
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome100", "firefox113", "safari16.4"],
  charset: "utf8",
  legalComments: "none", // they are in LICENSES.txt
  metafile: true,
  outdir: out,
});

// packagesOf lists the npm packages whose code is in the bundle.
function packagesOf(metafile) {
  const names = new Set();
  for (const path of Object.keys(metafile.inputs)) {
    const match = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (match) names.add(match[1]);
  }
  return [...names].sort();
}

// licence is a package's licence, with its version.
function licence(name) {
  const dir = join("node_modules", name);
  const { version, license, homepage } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  const file = readdirSync(dir).find((f) => /^licen[cs]e/i.test(f));
  const text = file ? readFileSync(join(dir, file), "utf8").trim() : `Licence: ${license}`;
  return `${name} ${version} (${license})\n${homepage ?? ""}\n\n${text}\n`;
}

const rule = "\n" + "-".repeat(80) + "\n\n";
writeFileSync(join(out, "LICENSES.txt"), packagesOf(result.metafile).map(licence).join(rule));
if (!existsSync(join(out, "page.css"))) throw new Error("the bundle has no style");
