package pagetest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/connwise/pool"
)

// hasten makes the page's pauses short, and notes them; and what is said to screen readers.
const hasten = `
	window.pauses = [];
	window.said = [];
	const later = window.setTimeout;
	window.setTimeout = (f, ms, ...args) => {
		if (ms >= 1000 && ms !== 10000) window.pauses.push(ms);
		return later(f, ms === 10000 ? 1000 : ms >= 1000 ? 50 : ms, ...args);
	};
	document.addEventListener("DOMContentLoaded", () => {
		for (const id of ["status", "error"]) {
			const e = document.getElementById(id);
			new MutationObserver(() => window.said.push(e.textContent)).observe(e, { childList: true, characterData: true, subtree: true });
		}
	});
`

// TestRefreshKeepsItsUsersPlace changes all of 500 hosts under somebody who has scrolled to one.
func TestRefreshKeepsItsUsersPlace(t *testing.T) {
	src := fleet(500)
	p := open(t, pool.StatsHandler(src), look{fragment: "#sort=-sent&open=https%3A%2F%2Fhost-250.example%3A443", script: hasten})
	p.shows(500)
	eval[bool](p, `(() => {
		window.row = [...document.querySelectorAll("#hosts > tbody > tr")].find((tr) => tr.cells[0].textContent.includes("host-250"));
		window.button = row.querySelector("button");
		button.focus();
		button.scrollIntoView({ block: "center" });
		return true;
	})()`)
	for i := range 3 {
		src.change(func(hosts []pool.HostStats) []pool.HostStats {
			for j := range hosts[2:] {
				hosts[2+j].Sent = uint64((j*7919+i*104729)%10007 + 20000*(i+1)) // in another order
			}
			return hosts
		})
		want := src.Stats().Hosts[250].Sent
		p.until(fmt.Sprintf(`row.cells[9].textContent === "%d"`, want))
		p.until(fmt.Sprintf(`[...row.nextSibling.querySelectorAll("dd")].some((dd) => dd.textContent === "%d")`, want))
		p.wantFocus()
	}
	p.wantOrder(src)

	// It is forgotten, and stays as long as somebody is there.
	src.change(func(hosts []pool.HostStats) []pool.HostStats { return slices.Delete(hosts, 250, 251) })
	p.until(`button.textContent === "https://host-250.example:443 (forgotten)"`)
	p.wantFocus()
	eval[bool](p, `(button.blur(), true)`)
	p.until(`!row.isConnected`)
	p.shows(499)
	if said := eval[[]string](p, "said"); len(said) > 0 {
		t.Errorf("screen readers were told %q", said)
	}
}

func (p *tab) wantFocus() {
	p.t.Helper()
	at := eval[struct {
		Focus bool
		Top   float64
	}](p, `({ Focus: document.activeElement === button, Top: button.getBoundingClientRect().top })`)
	if !at.Focus {
		p.t.Errorf("the focus is on %s", eval[string](p, "document.activeElement.outerHTML.slice(0, 100)"))
	}
	if at.Top < 0 || at.Top > 900 {
		p.t.Errorf("what has the focus is at %v, outside the window", at.Top)
	}
}

// wantOrder wants all hosts, sorted by Sent, although the focus was among them.
func (p *tab) wantOrder(src *source) {
	p.t.Helper()
	hosts := src.Stats().Hosts
	slices.SortStableFunc(hosts, func(a, b pool.HostStats) int {
		switch {
		case a.Sent > b.Sent:
			return -1
		case a.Sent < b.Sent:
			return 1
		}
		return strings.Compare(a.Host, b.Host)
	})
	if got, want := p.order(), names(hosts); !slices.Equal(got, want) {
		p.t.Errorf("the order is %q, want %q", got, want)
	}
}

// TestErrorsAreShown takes the process away for a while.
func TestErrorsAreShown(t *testing.T) {
	var how atomic.Value
	how.Store("well")
	src := fleet(3)
	stats := pool.StatsHandler(src)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	p := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			stats.ServeHTTP(w, r)
			return
		}
		switch how.Load() {
		case "well":
			stats.ServeHTTP(w, r)
		case "503":
			http.Error(w, "not now", http.StatusServiceUnavailable)
		case "html":
			_, _ = w.Write([]byte("<html>"))
		case "other":
			_, _ = w.Write([]byte(`{"a":1}`))
		case "hang":
			select {
			case <-r.Context().Done():
			case <-end:
			}
		case "cut":
			panic(http.ErrAbortHandler)
		}
	}), look{script: hasten, errors: true})
	p.shows(3)
	for _, tt := range []struct{ how, says string }{
		{"503", "answered 503"}, {"html", "JSON"}, {"other", "isn't pool.StatsHandler's JSON"},
		{"hang", "didn't answer in time"}, {"cut", "Failed to fetch"},
	} {
		eval[bool](p, "(pauses = [], said = [], true)")
		how.Store(tt.how)
		p.until(fmt.Sprintf(`document.getElementById("error").textContent.includes(%q)`, tt.says))
		if tt.how == "503" { // the pauses grow, and nothing is said twice
			p.until("pauses.length >= 8 && pauses.at(-1) === 60000")
			got := eval[[]int](p, "pauses.slice(0, 8).filter((ms) => ms !== 2000)") // a fetch was under way
			if want := []int{4000, 8000, 16000, 32000, 60000, 60000, 60000, 60000}; !slices.Equal(got, want[:len(got)]) {
				t.Errorf("pauses %v, want %v", got, want)
			}
			if said := eval[[]string](p, "said"); len(said) != 1 {
				t.Errorf("said %q, want it once", said)
			}
			p.shoot("error")
		}
		p.shows(3) // the last state
		how.Store("well")
		p.until(`document.getElementById("error").textContent === "" && pauses.at(-1) === 2000`)
	}
}

// TestPause checks that nothing is asked of the process while the page is paused.
func TestPause(t *testing.T) {
	src := fleet(3)
	stats := pool.StatsHandler(src)
	var asked atomic.Int64
	p := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		stats.ServeHTTP(w, r)
	}), look{script: hasten})
	p.shows(3)
	p.until("pauses.length > 2")
	// After the click nothing may begin, and what had begun is through after some frames.
	const wait = `new Promise((done) => later(() => done(true), 100))`
	eval[bool](p, `(document.getElementById("pause").click(), `+wait+`)`)
	before := asked.Load()
	eval[bool](p, `new Promise((done) => later(() => done(true), 400))`)
	if n := asked.Load() - before; n > 0 {
		t.Errorf("asked %d times while it is paused", n)
	}
	src.change(func(hosts []pool.HostStats) []pool.HostStats { return hosts[:2] })
	eval[bool](p, `(document.getElementById("now").click(), true)`)
	p.shows(2)
	src.change(func(hosts []pool.HostStats) []pool.HostStats { return hosts[:1] })
	eval[bool](p, `(document.getElementById("pause").click(), true)`)
	p.shows(1)
}

// TestRefreshMovesLittle counts the rows that refreshes of 500 hosts take out or put in: none
// where the order stays, and one where one host goes to the top.
func TestRefreshMovesLittle(t *testing.T) {
	src := fleet(500)
	src.change(func(hosts []pool.HostStats) []pool.HostStats {
		for i := range hosts {
			hosts[i].Sent = uint64(1000 - i)
		}
		return hosts
	})
	p := open(t, pool.StatsHandler(src), look{fragment: "#sort=-sent", script: hasten})
	p.shows(500)
	eval[bool](p, `(() => {
		window.moved = 0;
		new MutationObserver((list) => { for (const m of list) moved += m.addedNodes.length + m.removedNodes.length; }).observe(document.querySelector("#hosts > tbody"), { childList: true });
		return true;
	})()`)
	for _, step := range []struct{ moves, top int }{{0, 0}, {2, 499}} {
		src.change(func(hosts []pool.HostStats) []pool.HostStats {
			for i := range hosts {
				hosts[i].Sent += 1_000_000
			}
			if step.top > 0 {
				hosts[step.top].Sent *= 2
			}
			return hosts
		})
		p.until(fmt.Sprintf(`document.querySelector("#hosts > tbody > tr").cells[9].textContent === "%d"`, src.Stats().Hosts[step.top].Sent))
		if got := eval[int](p, "moved"); got != step.moves {
			t.Errorf("%d rows were taken out or put in, want %d", got, step.moves)
		}
	}
}

// TestFluid bounds what refreshes of 500 hosts take of the browser, where all of them change.
func TestFluid(t *testing.T) {
	src := fleet(500)
	p := open(t, pool.StatsHandler(src), look{fragment: "#sort=-sent", script: hasten + `
		window.long = [];
		new PerformanceObserver((list) => long.push(...list.getEntries().map((e) => e.duration))).observe({ type: "longtask" });`})
	p.shows(500)
	first := eval[[]float64](p, "long.splice(0)")
	for i := range 6 {
		src.change(func(hosts []pool.HostStats) []pool.HostStats {
			for j := range hosts {
				h := &hosts[j]
				h.Sent, h.Reused, h.Open, h.Idle = uint64((j*7919+i*104729)%10007+1e6), uint64(j*i), i+j%9, i
			}
			return hosts
		})
		p.until(fmt.Sprintf(`document.querySelector("#hosts > tbody").innerText.includes("%d")`, src.Stats().Hosts[499].Sent))
	}
	long := eval[[]float64](p, "long")
	t.Logf("tasks of more than 50 ms, in ms: at first %v, then %v", first, long)
	slices.Sort(long)
	if len(long) > 0 && long[len(long)/2] > 600 { // the greatest is the machine's, if it is busy
		t.Errorf("half of them took more than %v ms", long[len(long)/2])
	}
}
