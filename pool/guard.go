package pool

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/connwise/dialer"
)

// A Guard opens connections for people who keep their http.Transport, or whatever else takes
// a DialContext. A connection of its refuses the first write after a rest, with a *GuardError
// and with no byte accepted, if it has been idle for as long as the limit allows or if its
// peer has closed it. http.Transport then takes another one, by itself where it can. Under
// MaxConnsPerHost a dial waits for its turn, with a deadline.
//
// A Guard has no goroutines (but for the process's one watcher) and needs no end: its
// connections belong to those who dialled. It is safe for concurrent use. A look before a
// request costs less than a microsecond, a connection about half a kilobyte.
//
// # What it can't do, and Transport can
//
// With requests at about the peer's idle timeout and 5 ms to the peer, http.Transport alone
// loses 20 to 25 % of POSTs, over a Guard 1 in 1,800 at most, with a retry.Transport on top
// none (TestGuardIdleRace in internal/scenario). The gaps:
//
//   - http.Transport sends again what a connection took no byte of only if the connection was
//     used before, and the request has no body or a GetBody. Others get the *GuardError.
//     (IdleConnTimeout below the limit makes it rare.) And when the peer's FIN comes between
//     its taking a connection and its first write, it fails every method that isn't idempotent,
//     though nothing was written. A retry.Transport over the http.Transport counts bytes (see
//     Accepted), and closes both gaps for bodies that it can rewind. For a body that can't be
//     had again nothing can be done: http.Transport has read from it by then.
//   - http.Transport keeps two idle connections per host, unless MaxIdleConnsPerHost says more,
//     and closes the others: Stats has them as ReasonIdleClosed.
//   - Its errors have no phases. What was written may have been processed.
//   - A request doesn't take what comes free first: a dial that was begun goes on, and waits.
//   - It doesn't see Keep-Alive: timeout=N, a GOAWAY, a limit on streams, or a request's method,
//     and asks for no sign of life.
//
// # What it sees
//
// On a plain connection it knows requests by their request line, and so cuts none short: not
// in a pause of an upload, nor behind 100 Continue. After 101 it steps back for good.
//
// In TLS it sees the sizes of what passes, no more. A connection rests if as much was read since
// the last write as an answer takes, which has 51 bytes at least. So it can be wrong where a
// request pauses for as long as the idle limit: after an interim answer with many headers (103
// Early Hints); after an early answer to an upload that goes on; and on an upgraded connection
// (WebSocket), whose next message of more than 26 bytes is refused. Pings more often than
// the limit prevent that.
//
// HTTP/2 on a connection that is silent for as long as the limit may have a stream open that waits
// for its answer (a long poll); the next request is refused, and both end. DialContext sees
// in the handshake that HTTP/2 is offered, not whether it is spoken, and keeps to the
// limit all the same. http.HTTP2Config.SendPingTimeout below the limit prevents that; so does
// DialTLSContext, whose HTTP/2 connections are refused only when their peer has closed them,
// and which doesn't protect them from the peer's timer therefore. HTTP/2 by prior knowledge is
// recognized, and treated like that.
//
// # Stats
//
// A Guard's Stats are a Transport's, as far as it sees. Host is what was dialled, behind a
// proxy the proxy; Scheme is empty. Waiting and Waited are about dials. Idle are
// connections that rest; one may be among them whose answer is still being read, and none of
// HTTP/2 is. Sent and Reused count what looks like the beginning of a request, but not over
// HTTP/2; Stale counts what was refused because the peer had closed. What only the end of a
// request could tell stays zero.
type Guard struct {
	cfg    GuardConfig
	dialer dialer.Dialer

	// mu guards what follows. It is taken before any host's.
	mu        sync.Mutex
	hosts     map[string]*guardHost
	born      int // hosts made since the last look for those to be forgotten
	forgotten Totals
}

// NewGuard returns a Guard that behaves as cfg says. The error is a *ConfigError: a setting
// makes no sense or contradicts another.
func NewGuard(cfg GuardConfig) (*Guard, error) {
	if err := checkGuard(&cfg); err != nil {
		return nil, err
	}
	g := &Guard{cfg: cfg, hosts: make(map[string]*guardHost)}
	if cfg.Dialer != nil {
		g.dialer = *cfg.Dialer
	}
	if g.dialer.Memory == nil {
		g.dialer.Memory = new(dialer.Memory)
	}
	g.cfg.TLSClientConfig, g.cfg.Trace = cfg.TLSClientConfig.Clone(), cfg.Trace.clone()
	g.cfg.Hosts = make(map[string]GuardHost, len(cfg.Hosts))
	for addr, gh := range cfg.Hosts {
		g.cfg.Hosts[canonicalAddr("", addr)] = gh
	}
	return g, nil
}

// DialContext opens a guarded connection; it is meant for http.Transport's DialContext. It
// waits for a slot under MaxConnsPerHost, and then as long as the Dialer does. The error is an
// *Error of PhaseWait if no slot came, else a *dialer.Error. As http.Transport may dial for
// an idempotent request that it sends a second time, neither proves that the request
// wasn't sent before.
func (g *Guard) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := g.dial(ctx, network, addr)
	if err != nil {
		return nil, err // and not a nil *guardConn
	}
	return c, nil
}

func (g *Guard) dial(ctx context.Context, network, addr string) (*guardConn, error) {
	h := g.visit(network, addr)
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	id := h.traceID()
	start := time.Now()
	nc, took, err := g.connect(ctx, network, addr)
	if err != nil {
		stage := failedStage(err, errors.Is(err, context.Canceled))
		h.dialFailed(stage)
		h.traceDialled(id, nil, DialEvent{Took: time.Since(start), Err: err, Stage: stage})
		return nil, err
	}
	whole := time.Since(start)
	c := h.opened(nc, took, whole)
	c.id = id
	c.watchOver()
	h.traceDialled(id, c, DialEvent{Took: whole})
	return c, nil
}

// connect opens a connection, and says what connecting took.
func (g *Guard) connect(ctx context.Context, network, addr string) (net.Conn, time.Duration, error) {
	if hook := g.cfg.DialContext; hook != nil || network == "tcp" {
		r := dialer.Route{Addr: addr}
		if hook != nil {
			r.Connect = func(ctx context.Context, _, addr string) (net.Conn, error) { return hook(ctx, network, addr) }
		}
		l, err := g.dialer.Dial(ctx, r)
		if err != nil {
			return nil, 0, err
		}
		return l.Conn, connectTime(l), nil
	}
	nc, err := g.dialer.DialContext(ctx, network, addr)
	return nc, 0, err
}

// visit finds or makes the host of an address, which can't be forgotten until enter.
func (g *Guard) visit(network, addr string) *guardHost {
	if strings.HasPrefix(network, "tcp") {
		addr = canonicalAddr("", addr)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.hosts[addr]
	if h == nil {
		if g.born++; g.born > 16+len(g.hosts)/4 {
			g.forgetLocked(time.Now())
		}
		h = &guardHost{addr: addr, cfg: g.cfg.forHost(addr), trace: g.cfg.Trace}
		h.limits.Store(&idleLimits{})
		g.hosts[addr] = h
	}
	h.mu.Lock()
	h.visits++
	h.mu.Unlock()
	return h
}

// forgetLocked forgets hosts without connections: those of long ago, and all of them when there
// are many. There is no timer for it: it is done now and then when hosts come, and by Stats.
func (g *Guard) forgetLocked(now time.Time) {
	g.born = 0
	keep := forgetAfter
	if len(g.hosts) >= manyHosts {
		keep = 0
	}
	for addr, h := range g.hosts {
		h.mu.Lock()
		if h.restingLocked() && age(now, h.usedAt) >= keep {
			tot := h.totalsLocked()
			g.forgotten.Add(&tot)
			delete(g.hosts, addr)
		}
		h.mu.Unlock()
	}
}

// Stats returns a snapshot. See Guard for what its gauges mean.
func (g *Guard) Stats() (s Stats) {
	g.ReadStats(&s)
	return s
}

// ReadStats is Stats for those who ask again and again: see Transport.ReadStats.
func (g *Guard) ReadStats(s *Stats) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetLocked(time.Now())
	hosts := make([]*guardHost, 0, len(g.hosts))
	for _, h := range g.hosts {
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b *guardHost) int { return cmp.Compare(a.addr, b.addr) })
	s.begin(&g.forgotten, len(hosts))
	for _, h := range hosts {
		s.add(h.readStats)
	}
}
