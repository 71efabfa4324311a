package sidecar

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A Proxy is the handler of a sidecar's clients. It is safe for concurrent use.
type Proxy struct {
	log      *slog.Logger
	memory   dialer.Memory // what is known of addresses outlives a reload
	replay   replayMemory
	tally    tally
	requests atomic.Uint64 // that have come
	active   atomic.Int64  // requests in the handler, upgraded connections included
	rest     chan struct{} // gets a value when active has become zero, if there is none in it

	mu      sync.Mutex // serializes Use and Close
	current atomic.Pointer[generation]
	closed  bool
	old     []*upstream // those that weren't gone yet when they were last looked at
}

// NewProxy returns a Proxy with the settings, which Load has checked. It logs to log what
// becomes of requests. Close ends it.
func NewProxy(s *Settings, log *slog.Logger) (*Proxy, error) {
	p := &Proxy{log: log, rest: make(chan struct{}, 1)}
	if err := p.Use(s); err != nil {
		return nil, err
	}
	return p, nil
}

// Use puts settings in force for the requests that come from now on. Those under way keep what
// they have, the connections to the upstream too: the old pool is closed behind the last of
// them. If nothing that the pool or the policy is made of has changed, they go on. If the
// error isn't nil, nothing has changed.
func (p *Proxy) Use(s *Settings) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return pool.ErrClosed
	}
	s.memory(&p.memory)
	was := p.current.Load()
	var old *upstream
	if was != nil {
		old = was.up
	}
	u, err := newUpstream(s, old)
	if err != nil {
		return err
	}
	if old != nil && old.key == u.key {
		u.leave()
		u, old = old, nil
	}
	p.replay.limit.Store(s.ReplayMemory)
	p.current.Store(newGeneration(p, s, u))
	if old != nil {
		p.old = append(p.stillThere(), old)
		old.retire()
	}
	return nil
}

// stillThere returns the old upstreams that requests hold. p.mu is held.
func (p *Proxy) stillThere() (there []*upstream) {
	for _, u := range p.old {
		select {
		case <-u.gone:
		default:
			there = append(there, u)
		}
	}
	return there
}

// Close gives up the pool. It waits for the requests that use it: end those first.
func (p *Proxy) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	u := p.current.Load().up
	p.old = append(p.old, u)
	u.retire()
	for _, u := range p.old {
		<-u.gone
	}
}

// ServeHTTP sends the request to the upstream, and the answer back.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	p.active.Add(1)
	defer p.done()
	g := p.enter()
	if g == nil {
		w.Header().Set(fieldUnprocessed, "true")
		http.Error(w, "connwise proxy: it has ended", http.StatusServiceUnavailable)
		return
	}
	defer g.up.leave()
	g.serve(w, r)
}

// enter returns the generation in force, with a hold on its upstream; nil after Close.
func (p *Proxy) enter() *generation {
	for {
		g := p.current.Load()
		if g.up.enter() {
			return g
		}
		if p.current.Load() == g {
			return nil
		}
	}
}

func (p *Proxy) done() {
	if p.active.Add(-1) == 0 {
		select {
		case p.rest <- struct{}{}:
		default:
		}
	}
}

// idle waits until no request is under way. It's for one caller at a time, when none come any
// more. The error is ctx's.
func (p *Proxy) idle(ctx context.Context) error {
	for p.active.Load() > 0 {
		select {
		case <-p.rest:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Active returns how many requests are under way, upgraded connections included.
func (p *Proxy) Active() int64 { return p.active.Load() }

// Settings returns those in force.
func (p *Proxy) Settings() *Settings { return p.current.Load().set }

// Transports returns the pool and the policy in force. They are the Proxy's.
func (p *Proxy) Transports() (*pool.Transport, *retry.Transport) {
	u := p.current.Load().up
	return u.pool, u.transport
}

// Stats returns the snapshot of the pool in force. A reload that changes the pool begins a
// new one, whose counters start at zero.
func (p *Proxy) Stats() pool.Stats { return p.current.Load().up.pool.Stats() }
