package poolprom_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/pool/poolprom"
	"example.com/connwise/retry"

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

// Without a bound all is shown, and sums up to the total.
func TestSumsToTheTotal(t *testing.T) {
	w := newTown()
	for i := range 100 {
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
		{Namespace: "no\xffname"},
		{ConstLabels: prometheus.Labels{"host": "mine"}},
		{ConstLabels: prometheus.Labels{"account": "mine", "scheme": "http"}},
	} {
		if err := prometheus.NewRegistry().Register(poolprom.New(newTown(), o)); err == nil {
			t.Errorf("%+v: no error of a pool's", o)
		}
		delete(o.ConstLabels, "scheme")
		if err := prometheus.NewRegistry().Register(poolprom.NewRetry(new(retry.Transport), o)); err == nil && o.ConstLabels["host"] == "" {
			t.Errorf("%+v: no error of a retry's", o)
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
			for i := range 100 {
				w.visit(fmt.Sprintf("h%d:80", i%(20+g)), uint64(i))
			}
		})
		for _, reg := range regs {
			wg.Go(func() {
				for range 15 {
					if _, err := reg.Gather(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
}
