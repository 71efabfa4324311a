// What the user has chosen. It is kept in the URL's fragment, so that it survives a reload
// and can be sent to somebody.
const state = { sort: "host", filter: "", show: "all", open: new Set(), every: 2, live: true, loaded: false, bounds: [] };
const byId = (id) => document.getElementById(id);
const sortable = new Set(columns.map((c) => c.key));

function loadState() {
  const p = new URLSearchParams(location.hash.slice(1));
  const sort = p.get("sort") ?? "";
  state.sort = sortable.has(sort.replace(/^-/, "")) ? sort : "host";
  state.filter = p.get("filter") ?? "";
  state.show = Object.hasOwn(filters, p.get("show") ?? "") ? p.get("show") : "all";
  state.open = new Set(p.getAll("open"));
  state.every = [...byId("every").options].some((o) => o.value === p.get("every")) ? Number(p.get("every")) : 2;
  state.live = p.get("live") !== "0";
  if (byId("filter").value !== state.filter) byId("filter").value = state.filter;
  byId("show").value = state.show;
  byId("every").value = String(state.every);
  renderPause();
}

function saveState() {
  const p = new URLSearchParams();
  if (state.sort !== "host") p.set("sort", state.sort);
  if (state.filter) p.set("filter", state.filter);
  if (state.show !== "all") p.set("show", state.show);
  for (const key of state.open) p.append("open", key);
  if (state.every !== 2) p.set("every", String(state.every));
  if (!state.live) p.set("live", "0");
  const hash = p.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
}

function renderPause() {
  byId("pause").setAttribute("aria-pressed", String(!state.live));
}

// say is for screen readers. Only what the user does is spoken, never a refresh.
let sayTimer = 0;
function say(text) {
  clearTimeout(sayTimer);
  sayTimer = setTimeout(() => setText(byId("status"), text), 400);
}

function sortBy(c) {
  const first = c.kind === "text" ? c.key : `-${c.key}`;
  const second = c.kind === "text" ? `-${c.key}` : c.key;
  state.sort = state.sort === first ? second : first;
  saveState();
  render();
  say(`sorted by ${c.label}, ${state.sort.startsWith("-") ? "descending" : "ascending"}`);
}

function choose() {
  saveState();
  say(`${render()} of ${rows.size} hosts shown`);
}

function makeHead() {
  document.querySelector("#hosts > thead > tr").append(...columns.map((c) => {
    const button = make("button", { type: "button", textContent: c.label, title: c.help });
    button.addEventListener("click", () => sortBy(c));
    return make("th", { scope: "col", "data-key": c.key, className: c.kind === "text" ? "text" : "" }, button);
  }));
}

function listen() {
  byId("filter").addEventListener("input", (e) => { state.filter = e.target.value; choose(); });
  byId("show").addEventListener("change", (e) => { state.show = e.target.value; choose(); });
  byId("every").addEventListener("change", (e) => { state.every = Number(e.target.value); saveState(); schedule(); });
  byId("now").addEventListener("click", refresh);
  byId("pause").addEventListener("click", () => {
    state.live = !state.live;
    saveState();
    renderPause();
    say(state.live ? "refreshing" : "paused");
    state.live ? refresh() : halt();
  });
  byId("skip").addEventListener("click", (e) => { e.preventDefault(); byId("hosts").focus(); });
  addEventListener("hashchange", () => { loadState(); render(); schedule(); });
  document.addEventListener("visibilitychange", () => (document.hidden || !state.live ? clearTimeout(live.timer) : refresh()));
}

// halt ends refreshing, and the fetch under way.
function halt() {
  clearTimeout(live.timer);
  live.fetching?.abort();
  live.fetching = null;
}

makeHead();
const renderTotals = makeTotals(byId("total"));
setText(byId("where"), `of ${location.host}${location.pathname}`);
document.title = `connection pools of ${location.host}`;
loadState();
listen();
render();
refresh();
