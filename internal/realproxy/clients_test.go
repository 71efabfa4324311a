//go:build proxies && unix

package realproxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A client makes transports of one kind, each with a pool of its own.
type client interface {
	transport(*testing.T) http.RoundTripper
	dials() uint64
	close(*testing.T) // all transports; called when no request is under way
}

func (r *rig) tlsConfig() *tls.Config {
	if r.roots == nil {
		return nil
	}
	return &tls.Config{RootCAs: r.roots}
}

// protocols are what clients may speak: HTTP/2 only where the rig is for it.
func (v variant) protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(v.proto != frontproxy.H2)
	p.SetHTTP2(v.proto == frontproxy.H2)
	return p
}

// connwise is this module: the retry layer over the pool.
type connwise struct {
	cfg    pool.Config
	policy retry.Policy
	pools  []*pool.Transport
}

// newConnwise returns a client that knows the proxy's idle timeout.
func newConnwise(r *rig) *connwise {
	return &connwise{cfg: pool.Config{
		Base:             &http.Transport{TLSClientConfig: r.tlsConfig(), Protocols: r.protocols()},
		ProxyIdleTimeout: r.idle,
	}}
}

// always is for newConfirming: no connection that is used again was idle for less.
const always = time.Nanosecond

// newConfirming returns a client that knows no timeout. Before a POST on a connection that was
// idle for longer than this it asks the peer for a sign of life, and it sends a POST again of
// which only the head was sent.
func newConfirming(r *rig, after time.Duration) *connwise {
	c := newConnwise(r)
	c.cfg.ProxyIdleTimeout, c.cfg.ConfirmAfter = 0, after
	c.policy.ResendHeadOnly = true
	return c
}

func (c *connwise) transport(t *testing.T) http.RoundTripper {
	t.Helper()
	p, err := pool.New(c.cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	c.pools = append(c.pools, p)
	return &retry.Transport{Base: p, Policy: c.policy}
}

// hasLimit tells whether rt is connwise's and has an idle limit in force.
func hasLimit(rt http.RoundTripper) bool {
	t, ok := rt.(*retry.Transport)
	if !ok {
		return false
	}
	p, ok := t.Base.(*pool.Transport)
	return ok && slices.ContainsFunc(p.Stats().Hosts, func(h pool.HostStats) bool { return h.IdleLimit > 0 })
}

func (c *connwise) dials() uint64 { return c.sum(func(t pool.Totals) uint64 { return t.Dials }) }

func (c *connwise) sum(counter func(pool.Totals) uint64) (n uint64) {
	for _, p := range c.pools {
		n += counter(p.Stats().Total)
	}
	return n
}

func (c *connwise) close(t *testing.T) {
	t.Helper()
	for _, p := range c.pools {
		p.Close()
		checkSilent(t, p)
	}
}

// netHTTP is net/http with room for all idle connections.
type netHTTP struct {
	base  *http.Transport
	made  []*http.Transport
	count atomic.Uint64
}

func newNetHTTP(r *rig) *netHTTP {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.Proxy = nil
	base.MaxIdleConns, base.MaxIdleConnsPerHost = 1024, 1024
	base.TLSClientConfig = r.tlsConfig()
	base.Protocols = r.protocols()
	return &netHTTP{base: base}
}

func (c *netHTTP) transport(*testing.T) http.RoundTripper {
	rt := c.base.Clone()
	dial := rt.DialContext
	rt.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c.count.Add(1)
		return dial(ctx, network, addr)
	}
	c.made = append(c.made, rt)
	return rt
}

func (c *netHTTP) dials() uint64 { return c.count.Load() }

func (c *netHTTP) close(*testing.T) {
	for _, rt := range c.made {
		rt.CloseIdleConnections()
	}
}
