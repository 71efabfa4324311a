package scenario

import (
	"net/http"
	"sync"

	"example.com/connwise/pool"
)

// client makes a transport that speaks sp.
func (r *rig) client(sp speech, cfg pool.Config) *pool.Transport {
	r.t.Helper()
	if sp.h2 {
		own := r.mode
		r.mode = sp.mode
		defer func() { r.mode = own }()
		return r.h2pool(cfg)
	}
	if cfg.Base == nil {
		cfg.Base = &http.Transport{}
	}
	return r.pool(cfg)
}

// A pair is a site and a client of its own.
type pair struct {
	*site
	tr *pool.Transport
}

// pairs makes one for each protocol. They are for tests that take their time, so that it
// is taken once.
func (r *rig) pairs(how func(speech) manners, cfg func() pool.Config) (ps []*pair) {
	r.t.Helper()
	for _, sp := range speeches {
		s := r.site(sp, how(sp))
		ps = append(ps, &pair{s, r.client(sp, cfg())})
	}
	return ps
}

// eachPair runs test for all pairs at the same time. It must not end the test.
func eachPair(ps []*pair, test func(*pair)) { together(len(ps), func(i int) { test(ps[i]) }) }

// host is what the client knows of the site.
func (p *pair) host() pool.HostStats {
	for _, h := range p.tr.Stats().Hosts {
		return h
	}
	return pool.HostStats{}
}

func noConfig() pool.Config { return pool.Config{} }

// A gathering holds its first n requests until all have come, so that each is on a
// connection of its own. With n zero it holds nothing.
type gathering struct {
	mu   sync.Mutex
	left int
	all  chan struct{}
}

func newGathering(n int) *gathering {
	g := &gathering{}
	g.hold(n)
	return g
}

// hold begins anew with n.
func (g *gathering) hold(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left, g.all = n, make(chan struct{})
}

func (g *gathering) wait(over <-chan struct{}) {
	g.mu.Lock()
	held, all := g.left > 0, g.all
	if held {
		if g.left--; g.left == 0 {
			close(all)
		}
	}
	g.mu.Unlock()
	if held {
		select {
		case <-all:
		case <-over:
		}
	}
}
