// All that comes from the process is put into the page as text by these, and touched only
// where it has changed: focus, selection and scrolling stay.
function make(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [k, v] of Object.entries(props ?? {})) {
    if (k in el) el[k] = v;
    else el.setAttribute(k, v);
  }
  el.append(...children);
  return el;
}

function setText(el, text, title) {
  if (el.textContent !== text) el.textContent = text;
  if (title !== undefined && el.title !== title) el.title = title;
}

function setClass(el, name) {
  if (el.className !== name) el.className = name;
}

// syncChildren makes these the children, in this order, and moves as few as can be. The child
// that has the focus is never moved, as that would take the focus away: the others move
// around it.
function syncChildren(parent, wanted) {
  const place = new Map(wanted.map((el, i) => [el, i]));
  for (const el of [...parent.children]) if (!place.has(el)) el.remove();
  const present = [...parent.children];
  const focus = present.findIndex((el) => el.contains(document.activeElement));
  const stay = longestRise(around(present.map((el) => place.get(el)), focus));
  let next = null;
  for (let i = wanted.length - 1; i >= 0; i--) {
    if (!stay.has(i)) parent.insertBefore(wanted[i], next);
    next = wanted[i];
  }
}

// around leaves out what can't stay where it is if the one at that index does.
function around(places, at) {
  return at < 0 ? places : places.filter((p, i) => i === at || (i < at ? p < places[at] : p > places[at]));
}

// longestRise is the longest subsequence of these different numbers that only rises.
function longestRise(numbers) {
  const ends = []; // ends[k]: where the one of length k + 1 with the least last number ends
  const before = [];
  numbers.forEach((n, i) => {
    let low = 0;
    for (let high = ends.length; low < high; ) {
      const mid = (low + high) >> 1;
      if (numbers[ends[mid]] < n) low = mid + 1;
      else high = mid;
    }
    before[i] = ends[low - 1];
    ends[low] = i;
  });
  const rise = new Set();
  for (let i = ends.at(-1); i !== undefined; i = before[i]) rise.add(numbers[i]);
  return rise;
}

// A box has a heading and a list of terms, or a table.
function listBox(heading, level, wide) {
  const list = make("dl");
  const box = make("div", { className: wide ? "box wide" : "box" }, make(level, { textContent: heading }), list);
  const items = new Map();
  // rows: [term, text, title, help]
  box.sync = (rows) => {
    box.hidden = rows.length === 0;
    syncChildren(list, rows.map(([term, text, title, help], i) => {
      const id = `${i} ${term}`;
      if (!items.has(id)) items.set(id, make("div", {}, make("dt", { textContent: term, title: help ?? "" }), make("dd")));
      const item = items.get(id);
      setText(item.lastChild, text, title ?? "");
      return item;
    }));
    if (items.size > 2 * rows.length + 64) items.clear();
  };
  return box;
}

function tableBox(heading, level, cols) {
  const body = make("tbody");
  const head = make("tr", {}, ...cols.map(([label, kind, help]) => make("th", { scope: "col", textContent: label, title: help ?? "", className: kind === "text" ? "text" : "" })));
  const note = make("p", { className: "note", hidden: true });
  const table = make("table", { }, make("caption", { className: "unseen", textContent: heading }), make("thead", {}, head), body);
  const box = make("div", { className: "box" }, make(level, { textContent: heading }), table, note);
  // rows: arrays of [text, title]
  box.sync = (rows, remark) => {
    box.hidden = rows.length === 0 && !remark;
    table.hidden = rows.length === 0;
    while (body.rows.length > rows.length) body.lastChild.remove();
    rows.forEach((row, i) => syncRow(body, i, row, cols));
    setText(note, remark ?? "");
    note.hidden = !remark;
  };
  return box;
}

function syncRow(body, i, row, cols) {
  const tr = body.rows[i] ?? body.appendChild(make("tr", {}, ...cols.map(([, kind], c) =>
    make(c === 0 ? "th" : "td", { className: kind === "text" ? "text" : "", ...(c === 0 ? { scope: "row" } : {}) }))));
  row.forEach(([text, title], c) => setText(tr.cells[c], text, title ?? ""));
}
