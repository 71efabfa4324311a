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

// syncChildren makes these the children, in this order. The child that has the focus is
// never moved, as that would take the focus away: the others move around it.
function syncChildren(parent, wanted) {
  const keep = new Set(wanted);
  for (const el of [...parent.children]) if (!keep.has(el)) el.remove();
  if (wanted.every((el, i) => parent.children[i] === el)) return;
  const at = wanted.findIndex((el) => el.parentNode === parent && el.contains(document.activeElement));
  if (at < 0) {
    parent.append(...wanted);
    return;
  }
  wanted[at].before(...wanted.slice(0, at));
  wanted[at].after(...wanted.slice(at + 1));
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
