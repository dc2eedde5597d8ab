// Numbers and times, in the format of the command's text.

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

// bytes shows a number of bytes with three significant digits.
export function bytes(n) {
  let i = 0;
  while (Math.abs(n) >= 1000 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  const a = Math.abs(n);
  const digits = i === 0 || a >= 100 ? 0 : a < 10 ? 2 : 1;
  return `${n.toFixed(digits)} ${units[i]}`;
}

export const count = (n) => Math.round(n).toLocaleString("en");

// amount shows a value of a kind: bytes or objects.
export function amount(kind, n) {
  return kind.endsWith("_bytes") ? bytes(n) : `${count(n)} ${Math.abs(n) === 1 ? "object" : "objects"}`;
}

// exact shows all digits.
export function exact(kind, n) {
  return kind.endsWith("_bytes") ? `${count(n)} B` : `${count(n)} objects`;
}

export const signed = (show, n) => (n > 0 ? "+" : "") + show(n);

export const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "–");

// duration shows seconds: 46s, 12m30s, 3h05m, 2d04h.
export function duration(s) {
  const two = (n) => String(n).padStart(2, "0");
  if (s < 60) return `${Math.round(s * 10) / 10}s`;
  s = Math.round(s);
  if (s < 3600) return `${Math.floor(s / 60)}m${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h${two(Math.floor((s % 3600) / 60))}m`;
  return `${Math.floor(s / 86400)}d${two(Math.floor((s % 86400) / 3600))}h`;
}

// fullPosition is the path of a file and a line.
export const fullPosition = ({ file, line }) => file && (line ? `${file}:${line}` : file);

// position is file:line with the last element of the path.
export function position(file, line) {
  if (!file) return "";
  const base = file.slice(file.lastIndexOf("/") + 1);
  return line ? `${base}:${line}` : base;
}
