package pagetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"example.com/connwise/pool"
)

// tabTo presses Tab until the element that js tells of the focused one has the focus. Each
// element on the way must show that it has it.
func (p *tab) tabTo(js string) {
	p.t.Helper()
	for range 60 {
		p.press(kb.Tab)
		at := eval[struct {
			There, Outlined bool
			Name            string
		}](p, fmt.Sprintf(`((e) => ({There: Boolean(%s), Outlined: getComputedStyle(e).outlineStyle !== "none", Name: e.outerHTML.slice(0, 200)}))(document.activeElement)`, js))
		if !at.Outlined {
			p.t.Errorf("no outline around %s", at.Name)
		}
		if at.There {
			return
		}
	}
	p.t.Fatalf("Tab never comes to %s", js)
}

// order are the names of the hosts that are shown.
func (p *tab) order() []string {
	p.t.Helper()
	return eval[[]string](p, `[...document.querySelectorAll("#hosts > tbody > tr:not(.detail) > th")].map((e) => e.textContent)`)
}

// names are those that the page gives to hosts in this order.
func names(hosts []pool.HostStats) (all []string) {
	for _, h := range hosts {
		all = append(all, h.Scheme+"://"+h.Host)
	}
	return all
}

// TestByKeyboard sorts, filters and opens details of 500 hosts, and reads what screen readers
// are told.
func TestByKeyboard(t *testing.T) {
	src := fleet(500)
	p := open(t, pool.StatsHandler(src), look{fragment: "#live=0"})
	p.shows(500)
	hosts := src.Stats().Hosts
	if got, want := p.order(), names(hosts); !slices.Equal(got, want) {
		t.Errorf("at first the order is %q", got)
	}

	p.tabTo(`e.id === "filter"`)
	p.press("HOST-1", "2")
	p.shows(10)
	p.until(`document.getElementById("status").textContent === "10 of 500 hosts shown"`)
	p.press(kb.Backspace, kb.Backspace)
	p.shows(500)

	p.tabTo(`e.textContent === "sent"`)
	p.press(kb.Enter)
	bySent := func(a, b pool.HostStats) int { // descending, and by name where they are the same
		if a.Sent != b.Sent {
			if a.Sent > b.Sent {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Host, b.Host)
	}
	slices.SortFunc(hosts, bySent)
	if got, want := p.order(), names(hosts); !slices.Equal(got, want) {
		t.Errorf("by sent, the most first: %q\nwant %q", got, want)
	}
	p.wantSort("sent", "descending")
	p.until(`document.getElementById("status").textContent === "sorted by sent, descending"`)
	p.press(" ")
	p.wantSort("sent", "ascending")
	if got := p.order(); got[499] != "https://host-000.example:443" {
		t.Errorf("by sent, the least first: the last one is %s", got[499])
	}

	p.tabTo(`e.closest("tbody")`)
	first := p.order()[0]
	p.press(kb.Enter)
	p.until(`document.activeElement.getAttribute("aria-expanded") === "true" && document.getElementById(document.activeElement.getAttribute("aria-controls")).className === "detail"`)

	// The choices survive a reload.
	p.do(p.ctx, chromedp.Reload())
	p.shows(500)
	p.wantSort("sent", "ascending")
	if got := eval[string](p, `document.querySelector(".detail").previousSibling.cells[0].textContent`); got != first {
		t.Errorf("after a reload details are open of %q, want %q", got, first)
	}
	if !eval[bool](p, `document.getElementById("pause").getAttribute("aria-pressed") === "true"`) {
		t.Error("after a reload it isn't paused")
	}
}

// TestShow chooses what is shown, in a list.
func TestShow(t *testing.T) {
	src := fleet(500)
	p := open(t, pool.StatsHandler(src), look{fragment: "#live=0"})
	p.shows(500)
	for _, tt := range []struct {
		keys  string
		shown func(h pool.HostStats) bool
	}{
		{"with r", func(h pool.HostStats) bool { return h.Waiting > 0 }},
		{"with f", func(h pool.HostStats) bool { return h.Failed > 0 || h.DialsFailed > 0 || h.WaitTimeouts > 0 }},
		{"that", func(h pool.HostStats) bool { return h.Proto == "HTTP/2.0" }},
	} {
		eval[bool](p, `(document.getElementById("show").focus(), true)`)
		p.press(tt.keys, kb.Tab) // Tab ends the search by letters
		want := names(slices.DeleteFunc(src.Stats().Hosts, func(h pool.HostStats) bool { return !tt.shown(h) }))
		p.shows(len(want))
		if got := p.order(); !slices.Equal(got, want) {
			t.Errorf("%q shows %q, want %q", tt.keys, got, want)
		}
	}
}

// wantSort wants one column to say that it is sorted by.
func (p *tab) wantSort(column, how string) {
	p.t.Helper()
	got := eval[[]string](p, `[...document.querySelectorAll("[aria-sort]")].map((th) => th.textContent + " " + th.ariaSort)`)
	if want := []string{column + " " + how}; !slices.Equal(got, want) {
		p.t.Errorf("sorted by %q, want %q", got, want)
	}
}
