// listed is the rows of a listBox for these fields of o.
function listed(fields, o) {
  return fields.filter(([key]) => o[key] !== undefined).map(([key, label, kind, help]) => [label, ...show(kind, o[key]), help]);
}

// counted makes the boxes of what all hosts have, and each of them.
function countedBoxes(level) {
  const boxes = {
    closed: tableBox("Why connections were closed", level, [["reason", "text"], ["closed", "n"], ["of these idle", "n"], ["mean idle age", "ns"]]),
    idle: tableBox("How the peer closed idle ones", level, [["how", "text"], ["closed", "n"]]),
    dials: listBox("Where dials failed", level),
    times: tableBox("How long it took", level, [["time", "text"], ["waits", "n"], ["dials", "n"]]),
    other: listBox("Other", level),
  };
  boxes.all = [boxes.closed, boxes.idle, boxes.dials, boxes.times, boxes.other];
  boxes.sync = (o, bounds) => {
    boxes.closed.sync(byCount(o.closed_by).map(([name, n]) => [[name], show("n", n), ...idleAge(o.idle_ages?.[name])]));
    boxes.idle.sync(byCount(o.idle_closes).map(([name, n]) => [[name], show("n", n)]));
    boxes.dials.sync(o.dials_failed > 0 ? listed(dialStages, o.dial_failures ?? {}) : []);
    boxes.times.sync(timeRows(bounds ?? [], o.wait_times, o.dial_times));
    boxes.other.sync([...unknown(o, named), ...unknown(o.dial_failures, stages, "dial_failures."),
      ...unknown(o.wait_times, histogram, "wait_times."), ...unknown(o.dial_times, histogram, "dial_times.")]);
  };
  return boxes;
}

const stages = new Set(dialStages.map(([key]) => key));
const histogram = new Set(["counts", "sum_ns"]);

// unknown is what of o has no place of its own.
function unknown(o, known, prefix = "") {
  return Object.keys(o ?? {}).filter((k) => !known.has(k)).map((k) => [prefix + k, other(o[k])]);
}

function idleAge(ages) {
  if (!ages?.count) return [["-"], ["-"]];
  const mean = BigInt(ages.sum_ns) / BigInt(ages.count);
  return [show("n", ages.count), [duration(mean), `${ages.sum_ns} ns in all`]];
}

// timeRows has a row for each bucket that isn't empty, and the sums.
function timeRows(bounds, waits, dials) {
  const count = (h, i) => h?.counts?.[i] ?? 0;
  const found = [...bounds, Infinity].map((bound, i) => [bound, count(waits, i), count(dials, i)]).filter(([, w, d]) => w || d);
  if (found.length === 0) return [];
  const name = (b) => (b === Infinity ? [`longer than ${duration(bounds.at(-1))}`] : [`${duration(b)} at most`, `${b} ns`]);
  return [...found.map(([b, w, d]) => [name(b), show("n", w), show("n", d)]),
    [["in all"], show("ns", waits?.sum_ns), show("ns", dials?.sum_ns)]];
}

// makeTotals makes what stands above the hosts.
function makeTotals(parent) {
  const now = listBox("Now", "h3");
  const since = listBox("Since the start, forgotten hosts included", "h3", true);
  const counted = countedBoxes("h3");
  parent.append(make("div", { className: "boxes" }, now, since, ...counted.all));
  return (doc) => {
    now.sync([["hosts", String(doc.hosts.length)],
      ...gauges.map(([key, label, kind, help]) => [label, ...show(kind, sum(doc.hosts.map((h) => h[key]))), help])]);
    since.sync(listed(counters, doc.total));
    counted.sync({ ...doc.total, ...rest(doc) }, doc.bounds_ns);
  };
}

// rest is what the document has beside hosts and total.
function rest(doc) {
  return Object.fromEntries(Object.entries(doc).filter(([k]) => k !== "hosts" && k !== "total"));
}

// makeDetail makes the row below a host's.
function makeDetail(id, host) {
  const limit = listBox("Limits, and what was learnt", "h3");
  const counts = listBox("Counters", "h3", true);
  const counted = countedBoxes("h3");
  const conns = tableBox("Connections", "h3", connFields.map(([, label, kind, help]) => [label, kind, help]));
  const boxes = make("div", { className: "boxes", role: "group", "aria-label": `Details of ${host}` }, conns, limit, counts, ...counted.all);
  const row = make("tr", { id, className: "detail" }, make("td", { colSpan: columns.length }, boxes));
  row.sync = (h, bounds) => {
    limit.sync(listed(limits, h));
    counts.sync(listed(counters, h));
    counted.sync(h, bounds);
    const list = h.conns ?? [];
    conns.sync(list.map((c) => connFields.map(([key, , kind]) => show(kind, c[key]))), connRemark(h, list));
  };
  return row;
}

function connRemark(h, list) {
  if (list.length >= h.open) return h.open === 0 ? "none is open" : "";
  return list.length === 0 ? `${h.open} open` : `${list.length} of ${h.open} open ones`;
}
