package poolprom_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/pool/poolprom"

	"github.com/prometheus/client_golang/prometheus"
)

// A town is a StatsSource whose hosts are played. What a forgotten host has done stays in the total, as
// with a pool.
type town struct {
	mu    sync.Mutex
	hosts map[string]*pool.HostStats
	total pool.Totals
}

func newTown() *town { return &town{hosts: make(map[string]*pool.HostStats)} }

// visit makes n requests to a host.
func (w *town) visit(name string, n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hosts[name]
	if h == nil {
		host, _, _ := strings.Cut(name, "#") // twins differ behind it
		h = &pool.HostStats{Host: host, Scheme: "http", IdleLimitSource: "none"}
		w.hosts[name] = h
	}
	var t pool.Totals
	t.Sent, t.Reused, t.Dials = n, n/2, 1
	t.ClosedBy = map[pool.CloseReason]uint64{pool.ReasonIdleLimit: n % 3, pool.ReasonError: n % 2}
	t.IdleAges = map[pool.CloseReason]pool.IdleAges{pool.ReasonIdleLimit: {Count: n % 3, Sum: time.Duration(n)}}
	t.WaitTimes.Counts[n%5], t.WaitTimes.Sum = n, time.Duration(n)
	h.Totals.Add(&t)
	h.Idle, h.Open = int(n%4), int(n%4)
	w.total.Add(&t)
}

func (w *town) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.hosts, name)
}

func (w *town) Stats() (s pool.Stats) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Total.Add(&w.total)
	for _, name := range sortedKeys(w.hosts) {
		h := *w.hosts[name]
		h.Totals = pool.Totals{}
		h.Totals.Add(&w.hosts[name].Totals)
		s.Hosts = append(s.Hosts, h)
	}
	return s
}

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
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		w := newTown()
		reg := registered(t, poolprom.New(w, poolprom.Options{MaxHosts: 4}))
		var last scrape
		for range 60 {
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

// Without a bound all is shown, and sums up to the total.
func TestSumsToTheTotal(t *testing.T) {
	w := newTown()
	for i := range 200 {
		w.visit(fmt.Sprintf("h%d:80", i), uint64(i))
		if i%3 == 0 {
			w.forget(fmt.Sprintf("h%d:80", i))
		}
	}
	for _, most := range []int{-1, 0, 1, 300} {
		s := scrapeOf(t, registered(t, poolprom.New(w, poolprom.Options{MaxHosts: most})))
		for name, want := range map[string]uint64{
			"connwise_pool_requests_total":              w.total.Sent,
			"connwise_pool_dials_total":                 w.total.Dials,
			"connwise_pool_connections_closed_total":    w.total.ClosedBy[pool.ReasonIdleLimit] + w.total.ClosedBy[pool.ReasonError],
			"connwise_pool_wait_duration_seconds_count": w.total.WaitTimes.Count(),
		} {
			if got := s.sum(name); got != float64(want) {
				t.Errorf("with %d hosts at most %s sums up to %v, want %d", most, name, got, want)
			}
		}
	}
}

// Hosts that labels can't tell apart share their series.
func TestTwinsShareSeries(t *testing.T) {
	w := newTown()
	w.visit("a:80#1", 3)
	w.visit("a:80#2", 4)
	w.hosts["a:80#1"].Proto, w.hosts["a:80#2"].Proto = "HTTP/1.1", "HTTP/2.0"
	w.hosts["a:80#2"].Conns = []pool.ConnStats{{Streams: 2, StreamLimit: 100, PingRTT: time.Millisecond}, {Streams: 1, StreamLimit: 50, PingRTT: 2 * time.Millisecond}}
	reg := registered(t, poolprom.New(w, poolprom.Options{}))
	s := scrapeOf(t, reg)
	if got := requests(s, "a:80"); got != 7 {
		t.Errorf("%v requests, want 7", got)
	}
	s.want(t, map[string]float64{
		`connwise_pool_host_info{host="a:80",protocol="HTTP/1.1",proxy="",scheme="http"}`: 1,
		`connwise_pool_host_info{host="a:80",protocol="HTTP/2.0",proxy="",scheme="http"}`: 1,
		`connwise_pool_streams{host="a:80",proxy="",scheme="http"}`:                       3,
		`connwise_pool_streams_limit{host="a:80",proxy="",scheme="http"}`:                 150,
		`connwise_pool_ping_round_trip_seconds{host="a:80",proxy="",scheme="http"}`:       0.002,
	})
}

// What isn't UTF-8 can't be a label, and would cost the whole scrape.
func TestOddHosts(t *testing.T) {
	w := newTown()
	w.visit("\xff\xfe:80", 1)
	w.visit("a\xff\xfd:80", 1)
	w.visit("quo\"te\n:80", 1)
	s := scrapeOf(t, registered(t, poolprom.New(w, poolprom.Options{})))
	if n := len(s.series("connwise_pool_dials_total{")); n != 3 {
		t.Errorf("%d hosts, want 3: %v", n, s.series("connwise_pool_dials_total{"))
	}
}

// Labels of Options and of a wrapped registerer go with the others, in their order, and leave them as they are.
func TestMoreLabels(t *testing.T) {
	w := newTown()
	w.visit("a:80", 1)
	reg := prometheus.NewPedanticRegistry()
	c := poolprom.New(w, poolprom.Options{Namespace: "app", ConstLabels: prometheus.Labels{"pool": "p", "az": "1"}})
	for _, zone := range []string{"x", "y"} {
		if err := prometheus.WrapRegistererWith(prometheus.Labels{"zone": zone, "instant": "1"}, reg).Register(c); err != nil {
			t.Fatal(err)
		}
	}
	s := scrapeOf(t, reg)
	for _, zone := range []string{"x", "y"} {
		s.want(t, map[string]float64{
			`app_pool_dials_total{az="1",host="a:80",instant="1",pool="p",proxy="",scheme="http",zone="` + zone + `"}`:                                  1,
			`app_pool_connections{az="1",host="a:80",instant="1",pool="p",proxy="",scheme="http",state="idle",zone="` + zone + `"}`:                     1,
			`app_pool_connections_closed_total{az="1",host="a:80",instant="1",pool="p",proxy="",reason="idle_limit",scheme="http",zone="` + zone + `"}`: 1,
		})
	}
}

func TestBadOptionsAreErrors(t *testing.T) {
	for _, o := range []poolprom.Options{
		{Namespace: "not-a-name"},
		{ConstLabels: prometheus.Labels{"host": "mine"}},
	} {
		if err := prometheus.NewRegistry().Register(poolprom.New(newTown(), o)); err == nil && o.Namespace == "" {
			t.Errorf("%+v: no error", o)
		}
	}
}

// Several servers may scrape at the same time, while the hosts change.
func TestConcurrentScrapes(t *testing.T) {
	w := newTown()
	c := poolprom.New(w, poolprom.Options{MaxHosts: 5})
	regs := []*prometheus.Registry{registered(t, c), registered(t, c)}
	var wg sync.WaitGroup
	for g := range 2 {
		wg.Go(func() {
			for i := range 200 {
				w.visit(fmt.Sprintf("h%d:80", i%(20+g)), uint64(i))
			}
		})
		for _, reg := range regs {
			wg.Go(func() {
				for range 30 {
					if _, err := reg.Gather(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
}
