// Refreshing: the JSON comes from the page's own URL.
const leastTimeout = 10000;
const mostPause = 60000;
const live = { timer: 0, fetching: null, failures: 0, at: 0 };

// Without credentials, which fetch refuses in a URL; the browser sends them all the same.
function jsonURL(host) {
  const url = new URL(location.origin + location.pathname + location.search);
  if (host) url.searchParams.set("host", host);
  return url;
}

async function fetchStats(url, signal) {
  const resp = await fetch(url, { headers: { Accept: "application/json" }, cache: "no-store", signal });
  if (!resp.ok) throw new Error(`it answered ${resp.status} ${resp.statusText}`.trim());
  const doc = parse(await resp.text());
  if (!Array.isArray(doc?.hosts) || !doc.total) throw new Error("what it answered isn't pool.StatsHandler's JSON");
  return doc;
}

// refresh fetches a new state, instead of the fetch that is under way, and sets the timer.
async function refresh() {
  clearTimeout(live.timer);
  live.fetching?.abort();
  const fetching = (live.fetching = new AbortController());
  const limit = setTimeout(() => fetching.abort(new Error("it didn't answer in time")), leastTimeout);
  try {
    const doc = await fetchStats(jsonURL(), fetching.signal);
    if (live.fetching === fetching) arrived(doc);
  } catch (err) {
    if (live.fetching === fetching) failed(fetching.signal.reason ?? err);
  }
  clearTimeout(limit);
  if (live.fetching !== fetching) return;
  live.fetching = null;
  schedule();
}

function arrived(doc) {
  const now = performance.now();
  take(doc, live.at && (now - live.at) / 1000);
  live.at = now;
  live.failures = 0;
  state.loaded = true;
  state.bounds = doc.bounds_ns;
  setText(document.getElementById("at"), new Date().toLocaleTimeString());
  setText(document.getElementById("error"), "");
  renderTotals(doc);
  render();
  fetchAllConns();
}

// fetchAllConns asks for those of one host after the other, until the next state comes.
async function fetchAllConns() {
  const at = live.at;
  for (const row of rows.values()) {
    if (row.detail?.isConnected && !row.gone) await fetchConns(row);
    if (live.at !== at) return;
  }
}

// failed keeps what was shown. The alert is spoken once for a cause, not at each attempt.
function failed(err) {
  live.failures++;
  const shown = state.loaded ? "What is shown is the last state." : "Nothing is known yet.";
  setText(document.getElementById("error"), `Can't refresh: ${err.message}. ${shown}${state.live ? " It is tried again, at growing intervals." : ""}`);
}

// schedule backs off while the process can't be asked.
function schedule() {
  clearTimeout(live.timer);
  if (!state.live || document.hidden) return;
  const pause = Math.min(state.every * 1000 * 2 ** Math.min(live.failures, 10), Math.max(mostPause, state.every * 1000));
  live.timer = setTimeout(refresh, pause);
}

// fetchConns asks for the connections of one host, of HTTP/1 too, which the state of all
// hosts doesn't have.
async function fetchConns(row) {
  if (row.asking) return;
  row.asking = true;
  try {
    const doc = await fetchStats(jsonURL(row.h.host), AbortSignal.timeout(leastTimeout));
    const [, found] = keyed(doc.hosts).find(([key]) => key === row.key) ?? [];
    row.conns = found?.conns ?? [];
    if (row.detail) row.detail.sync({ ...row.h, conns: row.conns }, state.bounds);
  } catch {
    row.conns = null; // those of the state of all hosts are shown
  }
  row.asking = false;
}
