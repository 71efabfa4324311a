package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/health"
)

// A stillConn is a connection in memory to a peer that is alive and says nothing. It can be
// looked at, for nothing, so that what is measured over it is the pool's own.
type stillConn struct{ net.Conn }

func (stillConn) Look() (health.Verdict, error) { return health.Alive, nil }

func (stillConn) Read([]byte) (int, error)         { return 0, errors.New("nothing to read") }
func (stillConn) Write(p []byte) (int, error)      { return len(p), nil }
func (stillConn) Close() error                     { return nil }
func (stillConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (stillConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (stillConn) SetDeadline(time.Time) error      { return nil }
func (stillConn) SetReadDeadline(time.Time) error  { return nil }
func (stillConn) SetWriteDeadline(time.Time) error { return nil }

func dialStill(context.Context, string, string) (net.Conn, error) { return stillConn{}, nil }

// benchSettings has a limit, a wait deadline and an idle limit, as a service has them.
func benchSettings(limit int) Config {
	return Config{
		Base:             &http.Transport{DialContext: dialStill, MaxIdleConns: 10_000},
		ProxyIdleTimeout: time.Minute,
		MaxConnsPerHost:  limit,
		MaxWait:          10 * time.Second,
	}
}

// A tripper makes what a goroutine needs to check out and check in, as a request to host does.
type tripper func(host string) func() error

// ourTrips checks out of tr, as call.run and ExchangeDone do.
func ourTrips(tb testing.TB, tr *Transport) tripper {
	return func(host string) func() error {
		req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://"+host+"/", nil)
		var w *waiter
		trips := 0
		return func() error {
			if err != nil {
				return err
			}
			h, err := tr.hostFor(req)
			if err != nil {
				return err
			}
			w = nil
			g, err := h.acquire(wish{ctx: req.Context(), cancel: req.Context().Done(), w: &w})
			if err != nil {
				return err
			}
			g.c.uses++
			if trips++; trips%1000 == 0 {
				g.c.idleSince = time.Now() // the time that its last read has taken
			}
			h.put(g.c)
			return nil
		}
	}
}

// A chanPool is a connection pool as people write it with channels: a semaphore has a host's
// limit, and its idle connections are in another channel. It has the duties of ours that are
// measured: a map of hosts, the limit, the context, a deadline for the wait, and an idle limit.
// With eager it tries without the deadline's timer first, which few do.
type chanPool struct {
	dial    func() (net.Conn, error)
	maxWait time.Duration
	maxIdle time.Duration
	eager   bool
	hosts   map[string]*chanHost // filled in before
}

type chanHost struct {
	sem  chan struct{} // one for each connection that is held
	idle chan *chanConn
}

type chanConn struct {
	net.Conn
	idleSince time.Time
}

var errChanTimeout = errors.New("no connection came free in time")

func (p *chanPool) get(ctx context.Context, host string) (*chanHost, *chanConn, error) {
	h := p.hosts[host]
	if err := p.wait(ctx, h); err != nil {
		return nil, nil, err
	}
	for {
		select {
		case c := <-h.idle:
			if time.Since(c.idleSince) < p.maxIdle {
				return h, c, nil
			}
			c.Close()
		default:
			nc, err := p.dial()
			if err != nil {
				<-h.sem
				return nil, nil, err
			}
			return h, &chanConn{nc, time.Now()}, nil
		}
	}
}

func (p *chanPool) wait(ctx context.Context, h *chanHost) error {
	if p.eager {
		select {
		case h.sem <- struct{}{}:
			return nil
		default:
		}
	}
	timer := time.NewTimer(p.maxWait)
	defer timer.Stop()
	select {
	case h.sem <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return errChanTimeout
	}
}

func (p *chanPool) put(h *chanHost, c *chanConn) {
	c.idleSince = time.Now()
	select {
	case h.idle <- c:
	default:
		c.Close()
	}
	<-h.sem
}

func chanTrips(tb testing.TB, limit int, eager bool, hosts ...string) tripper {
	p := &chanPool{
		dial:    func() (net.Conn, error) { return stillConn{}, nil },
		maxWait: 10 * time.Second,
		maxIdle: time.Minute,
		eager:   eager,
		hosts:   make(map[string]*chanHost),
	}
	for _, host := range hosts {
		p.hosts[host] = &chanHost{make(chan struct{}, limit), make(chan *chanConn, limit)}
	}
	return func(host string) func() error {
		return func() error {
			h, c, err := p.get(tb.Context(), host)
			if err != nil {
				return err
			}
			p.put(h, c)
			return nil
		}
	}
}

// lanes runs trips in n goroutines. Besides the time that passes it reports the processors' time,
// as that says more on a machine that others use too.
func lanes(b *testing.B, n int, trips func(lane int) func() error) {
	var next atomic.Int64
	all := make([]func() error, max(n, runtime.GOMAXPROCS(0)))
	for i := range all {
		all[i] = trips(i)
	}
	b.SetParallelism(max(n/runtime.GOMAXPROCS(0), 1))
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cpuTime()
	b.RunParallel(func(pb *testing.PB) {
		trip := all[next.Add(1)-1]
		for pb.Next() {
			if err := trip(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N), "cpu-ns/op")
}

// Checkout and checkin of an idle connection: without the look at its socket, and with it.
func BenchmarkCheckout(b *testing.B) {
	run := func(name string, cfg Config, host string) {
		b.Run("conn="+name, func(b *testing.B) {
			trip := ourTrips(b, newBench(b, cfg))(host)
			b.ReportAllocs()
			for b.Loop() {
				if err := trip(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("memory", benchSettings(0), "host.test")
	socket := benchSettings(0)
	socket.Base.DialContext = nil
	run("socket", socket, strings.Trim(answerer(b), "htp:/"))
}

// 64 goroutines on one host, with enough connections for all and with few, beside pools made
// with channels.
func BenchmarkContended(b *testing.B) {
	const goroutines = 64
	for _, limit := range []int{64, 16, 8, 1} {
		run := func(name string, trips func() tripper) {
			b.Run(fmt.Sprintf("conns=%d/by=%s", limit, name), func(b *testing.B) {
				trips := trips()
				lanes(b, goroutines, func(int) func() error { return trips("host.test") })
			})
		}
		run("pool", func() tripper { return ourTrips(b, newBench(b, benchSettings(limit))) })
		run("channel", func() tripper { return chanTrips(b, limit, false, "host.test") })
		run("eager-channel", func() tripper { return chanTrips(b, limit, true, "host.test") })
	}
}

// 64 goroutines over 1,000 hosts. No lock that hosts share may show in
//
//	go test -run '^$' -bench ManyHosts -mutexprofile mutex.out -mutexprofilefraction 1 ./pool
//	go tool pprof -top -lines pool.test mutex.out
func BenchmarkManyHosts(b *testing.B) {
	const goroutines, hosts = 64, 1000
	trips := ourTrips(b, newBench(b, benchSettings(64)))
	host := func(i int) string { return fmt.Sprintf("h%d.test", i) }
	for i := range hosts {
		if err := trips(host(i))(); err != nil { // so that all are known before there is a crowd
			b.Fatal(err)
		}
	}
	lanes(b, goroutines, func(lane int) func() error {
		ours := make([]func() error, hosts)
		for n, i := range rand.Perm(hosts) {
			ours[n] = trips(host(i))
		}
		i := 0
		return func() error {
			i++
			return ours[i%hosts]()
		}
	})
}
