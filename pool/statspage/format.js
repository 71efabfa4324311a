// parse keeps every digit: integers beyond what a number holds exactly become BigInts.
function parse(text) {
  const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const safe = text.replace(tokens, (m) => (/^-?\d{16,}$/.test(m) ? `{"$int":"${m}"}` : m));
  return JSON.parse(safe, (_, v) => (v !== null && typeof v === "object" && typeof v.$int === "string" ? exact(BigInt(v.$int)) : v));
}

function exact(big) {
  const n = Number(big);
  return Number.isSafeInteger(n) ? n : big;
}

// sum adds what may be numbers and BigInts.
function sum(values) {
  return exact(values.reduce((a, v) => a + BigInt(v ?? 0), 0n));
}

const units = [["d", 86400e9, "h", 3600e9], ["h", 3600e9, "min", 60e9], ["min", 60e9, "s", 1e9]];

// duration is readable: three digits, or two units.
function duration(ns) {
  const n = Number(ns ?? 0);
  for (const [unit, size, minor, part] of units) {
    if (n >= size) return `${Math.floor(n / size)} ${unit} ${Math.floor((n % size) / part)} ${minor}`;
  }
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (n >= size) return `${digits(n / size)} ${unit}`;
  }
  return n === 0 ? "0" : `${n} ns`;
}

// digits cuts off what is beyond three digits: it never makes 1000 of 999.9.
function digits(v) {
  const scale = v >= 100 ? 1 : v >= 10 ? 10 : 100;
  return String(Math.floor(v * scale) / scale);
}

// show is [the text, the title] of a value.
function show(kind, v) {
  switch (kind) {
    case "ns":
      return v ? [duration(v), `${v} ns`] : ["-", v === 0 ? "0 ns" : ""];
    case "n":
      return [v === undefined || v === -1 ? "-" : String(v), ""];
    case "rate":
      return v === undefined ? ["-", ""] : [v.toFixed(1), ""];
    case "flag":
      return [v ? "yes" : "-", ""];
  }
  return [v === undefined || v === "" ? "-" : String(v), ""];
}

// other is a value of which this page knows nothing.
function other(v) {
  return typeof v === "object" ? JSON.stringify(v, (_, x) => (typeof x === "bigint" ? String(x) : x)) : String(v);
}

function byCount(counts) {
  return Object.entries(counts ?? {}).sort((a, b) => compare(b[1], a[1]) || compare(a[0], b[0]));
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
