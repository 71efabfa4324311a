package pool

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// A model test: random settings and a random list of what callers, peers, the network and
// an operator do, one step after the other, each by a bubble's clock and with everything at
// rest behind it. The model sees what callers and peers see; from that it says after every
// step what the pool's gauges have to be, who may wait and who may not, and at which moment
// each request has to end (model_check_test.go, model_waits_test.go and, from inside, model_books_test.go).
//
// There are 100 runs of each kind; RAPID_CHECKS=10000 in the environment makes so many. A
// failure is shrunk, printed step by step, and kept in testdata/rapid, from where the next go test
// replays it first; so does -rapid.seed. One that rapid calls flaky is a race. A panic on a
// goroutine of the pool's own ends the test binary: RAPID_LOG=1 prints what is drawn.
func TestModel(t *testing.T) {
	kinds := map[string]func(*modelConfig){
		"h1":         func(*modelConfig) {},
		"h1 limited": func(cfg *modelConfig) { cfg.limit = max(cfg.limit, 1) },
		"h2":         func(cfg *modelConfig) { cfg.http2 = true },
		"h2 limited": func(cfg *modelConfig) { cfg.http2, cfg.limit = true, max(cfg.limit, 1) },
	}
	for name, shape := range kinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				cfg := drawModelConfig(rt)
				shape(&cfg)
				cfg.makeValid()
				steps := drawSteps(rt, cfg.http2)
				if wrong := runModel(t, cfg, steps); len(wrong) > 0 {
					rt.Fatalf("%+v\n%s", cfg, strings.Join(wrong, "\n"))
				}
			})
		})
	}
}

// A modelConfig is the part of a Config that the model knows about. Zero fields are off.
type modelConfig struct {
	http2                  bool
	limit, idle, waiters   int
	wait, idleTimeout, age time.Duration
	confirm                time.Duration
	minIdle, requests      int // MinIdlePerHost, MaxRequestsPerConn
	window                 int // most dials in flight
	oneConn, notKept       bool
}

// modelMargin is IdleMargin.
const modelMargin = 10 * time.Millisecond

func drawModelConfig(rt *rapid.T) modelConfig {
	of := func(name string, ds ...time.Duration) time.Duration { return rapid.SampledFrom(ds).Draw(rt, name) }
	number := func(name string, ns ...int) int { return rapid.SampledFrom(ns).Draw(rt, name) }
	return modelConfig{
		limit:       number("limit", 0, 1, 2, 5),
		idle:        number("idle", 0, 0, 1, 2),
		waiters:     number("waiters", 0, 0, 0, 0, 1, 3),
		wait:        of("wait", 0, 30*time.Millisecond, time.Second),
		idleTimeout: of("idleTimeout", 0, 100*time.Millisecond, 10*time.Second),
		age:         of("age", 0, 0, 0, 200*time.Millisecond),
		confirm:     of("confirm", 0, 0, 0, time.Nanosecond, 20*time.Millisecond),
		oneConn:     number("oneConn", 0, 0, 0, 1) == 1,
		notKept:     number("notKept", 0, 0, 0, 0, 0, 0, 0, 0, 0, 1) == 1,
		window:      number("window", 0, 0, 1, 2),
		minIdle:     number("minIdle", 0, 0, 0, 1, 2),
		requests:    number("requests", 0, 0, 0, 0, 1, 4),
	}
}

// makeValid makes of cfg what New doesn't refuse.
func (cfg *modelConfig) makeValid() {
	if cfg.notKept {
		cfg.minIdle = 0
	}
	for _, most := range []int{cfg.limit, cfg.idle} {
		if most > 0 {
			cfg.minIdle = min(cfg.minIdle, most)
		}
	}
}

func (cfg modelConfig) config(m *model) Config {
	base := &http.Transport{
		DialContext:       m.dial,
		DisableKeepAlives: cfg.notKept,
		HTTP2:             &http.HTTP2Config{StrictMaxConcurrentRequests: cfg.oneConn},
	}
	if cfg.http2 {
		base.Protocols = new(http.Protocols)
		base.Protocols.SetUnencryptedHTTP2(true)
	}
	c := Config{
		Base:             base,
		MaxConnsPerHost:  cfg.limit,
		MaxIdlePerHost:   cfg.idle,
		MaxWaiters:       cfg.waiters,
		MaxWait:          cfg.wait,
		ProxyIdleTimeout: cfg.idleTimeout,
		MaxConnAge:       cfg.age,

		MinIdlePerHost:     cfg.minIdle,
		MaxRequestsPerConn: cfg.requests,
		ConfirmAfter:       cfg.confirm,
		Jitter:             func() float64 { return 0 },
	}
	if cfg.idleTimeout > 0 {
		c.IdleMargin = modelMargin
	}
	return c
}

// idleLimit is how long a connection may be idle, zero for no limit.
func (cfg modelConfig) idleLimit() time.Duration { return max(cfg.idleTimeout-modelMargin, 0) }

// A model is what there is to know of one run from outside. Steps run on one goroutine, with
// all others at rest between them; what callers' and peers' goroutines add, they add under mu.
type model struct {
	cfg  modelConfig
	tr   *Transport
	over bool       // Close was called
	shut chan error // Shutdown was called; it has what that returned

	// mu guards what follows. A step has it, but for what takes time or asks the pool for
	// something; it is taken before host.mu.
	mu       sync.Mutex
	dials    []*modelDial // under way
	begun    uint64       // dials
	conns    []*modelConn // all that were opened, in order
	reqs     []*modelReq  // all, in order
	warms    []*modelWarm // all
	ended    uint64       // requests that failed
	arrivals []*modelReq  // in this step
	epoch    int          // of CloseIdleConnections and Drain
	log      []string     // the steps so far
	seen     history
	wrongMu  sync.Mutex
	wrong    []string // what isn't as it should be
}

// runModel runs the steps in a bubble, and returns the log and what was wrong with it, or
// nothing.
func runModel(t *testing.T, cfg modelConfig, steps []step) []string {
	m := &model{cfg: cfg}
	synctest.Test(t, func(t *testing.T) {
		defer m.recovered()
		tr, err := New(cfg.config(m))
		if err != nil {
			t.Fatal(err)
		}
		m.tr = tr
		defer tr.Close()
		m.seen.start = time.Now()
		for _, s := range steps {
			if m.do(s); len(m.wrong) > 0 {
				break
			}
		}
		m.end()
	})
	if len(m.wrong) == 0 {
		return nil
	}
	return append(m.log, m.wrong...)
}

// do makes one step, lets everything come to rest, and checks.
func (m *model) do(s step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.stepOf(s)
	if f == nil {
		return // there is nothing that it could be done to
	}
	m.log = append(m.log, fmt.Sprintf("%12v %v", time.Since(m.seen.start), s))
	m.seen.before(m)
	m.narrow()
	f()
	m.unlocked(synctest.Wait)
	m.check()
	m.checkFresh(s)
}

// unlocked does what others may need mu for.
func (m *model) unlocked(f func()) {
	m.mu.Unlock()
	defer m.mu.Lock()
	f()
}

// errorf notes that something is wrong.
func (m *model) errorf(format string, args ...any) {
	m.wrongMu.Lock()
	defer m.wrongMu.Unlock()
	m.wrong = append(m.wrong, fmt.Sprintf("%12v WRONG: ", time.Since(m.seen.start))+fmt.Sprintf(format, args...))
}

// recovered makes of a panic something that is wrong.
func (m *model) recovered() {
	if p := recover(); p != nil {
		m.errorf("panic: %v", p)
	}
}

// end ends what is still under way, one way or the other, and checks that nothing is left.
func (m *model) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	shutdown := len(m.log)%2 == 0 && !m.over // as good as random
	for _, r := range m.pending() {
		r.stop()
	}
	for _, w := range m.warms {
		w.cancel()
	}
	m.unlocked(synctest.Wait)
	m.checkRequests()
	for _, w := range m.warms {
		if !w.returned {
			m.errorf("Warm hangs")
		}
	}
	for _, r := range m.reqs {
		if !r.returned {
			m.errorf("request %d hangs", r.id)
		}
		r.decide(fateClose)
	}
	if shutdown {
		for _, d := range m.dials {
			d.done <- errModelDial
		}
		m.shutDown()
		m.unlocked(synctest.Wait)
		m.wantShut(true)
	}
	m.unlocked(func() {
		m.tr.Close()
		synctest.Wait()
	})
	m.checkEnd()
}
