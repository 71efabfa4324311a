// The table of hosts. Rows are made once for each host, and changed where the state did.
const rows = new Map(); // by keyOf
const body = document.querySelector("#hosts > tbody");
let rowIds = 0;

const hostName = (h) => (h.proxy ? `${h.host} via ${h.proxy}` : h.host);
const nameOf = (h) => (h.scheme ? `${h.scheme}://${hostName(h)}` : hostName(h));

// keyed gives each host of the document its key. Two may have one name: an origin that is
// spoken to by HTTP/1 and HTTP/2, or by a proxy with two accounts.
function keyed(hosts) {
  const seen = new Map();
  return hosts.map((h) => {
    const name = nameOf(h);
    const n = (seen.get(name) ?? 0) + 1;
    seen.set(name, n);
    return [n === 1 ? name : `${name} #${n}`, h];
  });
}

function makeRow(key, h) {
  const detailId = `d${++rowIds}`;
  const button = make("button", { type: "button", "aria-expanded": "false", textContent: key });
  const tr = make("tr", {}, make("th", { scope: "row" }, button), ...columns.slice(1).map((c) => make("td", { className: c.kind === "text" ? "text" : "" })));
  const row = { key, tr, button, h, detail: null, detailId, gone: false };
  button.addEventListener("click", () => toggle(row));
  return row;
}

function toggle(row) {
  state.open.has(row.key) ? state.open.delete(row.key) : state.open.add(row.key);
  saveState();
  render();
  if (state.open.has(row.key)) fetchConns(row);
}

// take takes over a new state. What has the focus stays, even if its host is forgotten.
function take(doc, seconds) {
  const fresh = new Set();
  for (const [key, h] of keyed(doc.hosts)) {
    const row = rows.get(key) ?? makeRow(key, h);
    rows.set(key, row);
    fresh.add(key);
    h.rate = rateOf(row.h, h, seconds);
    h.why = byCount(h.closed_by)[0]?.[0] ?? "";
    row.h = h;
    row.gone = false;
  }
  for (const [key, row] of rows) {
    row.gone = !fresh.has(key);
    if (row.gone && !holdsFocus(row)) rows.delete(key);
  }
}

// rateOf is undefined where counters went back: the process, or the host, began anew.
function rateOf(before, now, seconds) {
  if (before === now || !seconds || now.sent < before.sent) return undefined;
  return Number(BigInt(now.sent) - BigInt(before.sent)) / seconds;
}

function holdsFocus(row) {
  return row.tr.contains(document.activeElement);
}

const filters = {
  all: () => true,
  waiting: (h) => h.waiting > 0,
  open: (h) => h.open > 0,
  failures: (h) => h.failed > 0 || h.dials_failed > 0 || h.wait_timeouts > 0,
  http2: (h) => h.proto === "HTTP/2.0",
};

function matches(row) {
  return filters[state.show](row.h) && row.key.toLowerCase().includes(state.filter.toLowerCase());
}

function sortValue(row, key) {
  return key === "host" ? row.key : row.h[key] ?? (key === "rate" ? -1 : "");
}

// render brings the page to the state: rows, their order, and details.
function render() {
  const down = state.sort.startsWith("-");
  const key = state.sort.replace(/^-/, "");
  const found = [...rows.values()].filter((row) => matches(row) || holdsFocus(row));
  found.sort((a, b) => (down ? -1 : 1) * compare(sortValue(a, key), sortValue(b, key)) || compare(a.key, b.key));
  const wanted = [];
  for (const row of found) {
    renderRow(row);
    wanted.push(row.tr);
    if (row.detail) wanted.push(row.detail);
  }
  syncChildren(body, wanted);
  renderHead(key, down);
  const count = found.filter((row) => !row.gone).length;
  setText(document.getElementById("shown"), `${count} of ${rows.size} hosts`);
  const none = document.getElementById("none");
  none.hidden = found.length > 0 || !state.loaded;
  setText(none, rows.size === 0 ? "No hosts in use." : "No host matches.");
  return count;
}

function renderRow(row) {
  const open = state.open.has(row.key);
  columns.slice(1).forEach((c, i) => renderCell(row.tr.cells[i + 1], c, row.h[c.key]));
  setClass(row.tr, row.gone ? "gone" : "");
  setText(row.button, row.gone ? `${row.key} (forgotten)` : row.key);
  row.button.setAttribute("aria-expanded", String(open));
  if (!open) {
    row.detail = null;
    row.button.removeAttribute("aria-controls");
    return;
  }
  row.detail ??= makeDetail(row.detailId, row.key);
  row.button.setAttribute("aria-controls", row.detailId);
  row.detail.sync(row.conns ? { ...row.h, conns: row.conns } : row.h, state.bounds);
}

function renderCell(td, c, v) {
  const [text, title] = show(c.kind, v);
  setText(td, text, title);
  if (c.kind === "text") return;
  setClass(td, v > 0 ? c.mark ?? "" : "zero");
}

function renderHead(key, down) {
  for (const th of document.querySelectorAll("#hosts > thead th")) {
    if (th.dataset.key !== key) th.removeAttribute("aria-sort");
    else th.setAttribute("aria-sort", down ? "descending" : "ascending");
  }
}
