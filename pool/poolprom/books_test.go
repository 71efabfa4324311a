package poolprom_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/connwise/pool/poolprom"
)

func requests(s scrape, host string) float64 {
	return s.sum("connwise_pool_requests_total", fmt.Sprintf("host=%q", host))
}

func TestTopHostsHaveSeries(t *testing.T) {
	w := newTown()
	for i := range 10 {
		w.visit(fmt.Sprintf("h%d:80", i), uint64(i+1))
	}
	reg := registered(t, poolprom.New(w, poolprom.Options{MaxHosts: 3}))
	s := scrapeOf(t, reg)
	for host, want := range map[string]float64{"h9:80": 10, "h8:80": 9, "h7:80": 8, "other": 28, "h6:80": 0} {
		if got := requests(s, host); got != want {
			t.Errorf("%s has %v requests, want %v", host, got, want)
		}
	}
	s.want(t, map[string]float64{
		"connwise_pool_hosts{}": 10,
		`connwise_pool_connections{host="other",proxy="",scheme="",state="idle"}`: 2 + 3 + 1 + 2 + 3 + 1 + 0,
	})
	for name := range s {
		if strings.HasPrefix(name, "connwise_pool_idle_limit") && strings.Contains(name, "other") {
			t.Errorf("a limit of no host: %s", name)
		}
	}
	wantNoLint(t, reg)
}

// A host that comes to have twice as many requests gets the series of another one. What both have
// done before stays where it was.
func TestSeriesChangeHands(t *testing.T) {
	w := newTown()
	w.visit("a:80", 10)
	w.visit("b:80", 5)
	reg := registered(t, poolprom.New(w, poolprom.Options{MaxHosts: 1}))
	step := func(want map[string]float64) {
		t.Helper()
		s := scrapeOf(t, reg)
		for host, n := range want {
			if got := requests(s, host); got != n {
				t.Errorf("%s has %v requests, want %v", host, got, n)
			}
		}
	}
	step(map[string]float64{"a:80": 10, "b:80": 0, "other": 5})
	w.visit("b:80", 10) // 15: more, but not twice as many
	step(map[string]float64{"a:80": 10, "b:80": 0, "other": 15})
	w.visit("b:80", 10) // 25
	step(map[string]float64{"a:80": 0, "b:80": 0, "other": 25})
	w.visit("a:80", 3)
	w.visit("b:80", 4)
	step(map[string]float64{"a:80": 0, "b:80": 4, "other": 28})
	w.forget("b:80")
	step(map[string]float64{"a:80": 0, "b:80": 0, "other": 28}) // a has its place now
	w.visit("a:80", 1)
	step(map[string]float64{"a:80": 1, "other": 28})
}

// A host that is forgotten and comes back goes on where it was.
func TestForgottenHostGoesOn(t *testing.T) {
	w := newTown()
	w.visit("a:80", 10)
	reg := registered(t, poolprom.New(w, poolprom.Options{MaxHosts: 2}))
	for i, step := range []func(){
		func() {},
		func() { w.forget("a:80") },
		func() { w.visit("a:80", 1) },
		func() { w.forget("a:80"); w.visit("a:80", 31) }, // between two scrapes: no counter is lower than with 1
	} {
		step()
		if got, want := requests(scrapeOf(t, reg), "a:80"), []float64{10, 10, 11, 41}[i]; got != want {
			t.Errorf("step %d: %v requests, want %v", i, got, want)
		}
	}
	w.forget("a:80")
	w.visit("a:80", 2) // fewer than 31: how many went before nobody knows
	s := scrapeOf(t, reg)
	if got, other := requests(s, "a:80"), requests(s, "other"); got != 41 || other != 3 {
		t.Errorf("%v requests and %v of others, want 41 and 3", got, other)
	}
}

// Whatever hosts do, no counter goes back, and together they are the total, but for what
// went with series that changed hands.
func TestCountersOnlyGrow(t *testing.T) {
	for seed := range uint64(6) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		w := newTown()
		reg := registered(t, poolprom.New(w, poolprom.Options{MaxHosts: 4}))
		var last scrape
		for range 40 {
			for range rnd.IntN(20) {
				name := fmt.Sprintf("h%d:80#%d", rnd.IntN(12), rnd.IntN(2))
				if rnd.IntN(5) == 0 {
					w.forget(name)
				} else {
					w.visit(name, 1+rnd.Uint64N(1<<rnd.IntN(12)))
				}
			}
			s := scrapeOf(t, reg)
			wantGrown(t, last, s)
			if all := s.sum("connwise_pool_requests_total"); all > float64(w.total.Sent) {
				t.Fatalf("%v requests are shown, there were %d", all, w.total.Sent)
			}
			last = s
		}
		if n := len(last.series("connwise_pool_dials_total{")); n > 5 {
			t.Errorf("%d hosts have series, want 4 and the others at most", n)
		}
	}
}

func isCounter(name string) bool {
	name, _, _ = strings.Cut(name, "{")
	for _, end := range []string{"_total", "_count", "_sum", "_bucket"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// wantGrown checks what is in both scrapes. A host that has lost its series and got them again begins at
// zero, as it does in the scrape behind that in which they are gone.
func wantGrown(t *testing.T, last, now scrape) {
	t.Helper()
	for name, v := range now {
		if before, ok := last[name]; ok && isCounter(name) && v < before {
			t.Fatalf("%s was %v and is %v", name, before, v)
		}
	}
}
