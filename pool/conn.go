package pool

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/health"
	"example.com/connwise/internal/h1"
	"example.com/connwise/internal/h2"
)

// A conn is a connection and the slot that it takes of its host's limit, in one value:
// it is counted from the moment its dial starts until it is retired, and whoever holds
// it gives it back once, by host.put or host.retire.
type conn struct {
	h *host

	// Set once, when the dial is done.
	h1     *h1.Conn             // nil where HTTP/2 is spoken
	h2     *h2.Conn             // nil where HTTP/1 is spoken
	probe  *health.Probe        // HTTP/1
	vigil  *health.Vigil        // of a connection that can't be looked at; else nil
	watch  *health.Watcher      // nil where the platform has no watcher
	trace  *connTrace           // nil without Config.Trace
	tls    *tls.ConnectionState // link's
	maxAge time.Duration        // with its jitter; zero: none

	peerClosed atomic.Bool // the watcher saw a FIN or RST
	served     atomic.Bool // HTTP/2: a request was answered on it
	late       bool        // HTTP/1: it can be looked at as it is written to. Set with the above.
	// The transport closed it under its user (Close): the error to report instead of
	// "use of closed network connection".
	killed atomic.Pointer[error]

	// Owned by whoever holds the connection, and handed over under h.mu; with HTTP/2, which
	// many can hold, guarded by it.
	uses      int           // requests begun on it
	announced time.Duration // the server's Keep-Alive: timeout, zero if unknown
	idleSince time.Time     // when its last answer's last byte was read, or its first request began; before, see agedByTLS

	// Guarded by h.mu.
	epoch     uint64 // host.epoch when it was dialled
	state     connState
	restless  bool          // it is in host.restless
	rests     bool          // see rest.go
	renewed   bool          // its successor is dialled, or about to be: see renew.go
	restAfter time.Duration // zero: not yet known
	aliveAt   time.Time     // HTTP/2: when something had come from the peer, as noteSigns has found
	sharing

	// Set once, when the dial is done.
	nc     net.Conn // as the dialer gave it
	addr   string   // its remote address; empty if it has none
	link   *dialer.Link
	heard  *health.Arrivals // HTTP/2: its bytes are read all the time. hearMu is held for a look.
	hearMu sync.Mutex
	opened time.Time

	// Of its dial, guarded by h.mu.
	dialAt  time.Time
	cutDial func()      // ends it
	cut     bool        // cutDial was called, as no request waits for it
	passed  bool        // its proxy has connected it to the origin
	only1   bool        // HTTP/2 isn't offered, as the waiter has no use for it
	slow    bool        // it takes long: see stuck.go
	slowBy  *time.Timer // when it will
	ahead   bool        // no request has asked for it: see keep.go
}

type connState uint8

const (
	connDialing connState = iota
	connIdle
	connSettling // idle, but not yet to be used: see settle.go
	connInUse
	connWitness // idle, and not to be used any more: see witness.go
	connGone
)

// open makes the connection ready for use on what the dialer opened.
func (c *conn) open(l *dialer.Link) {
	t := c.h.t
	c.nc, c.link, c.tls, c.addr = l.Conn, l, l.TLS, remoteAddr(l.Conn)
	c.opened = time.Now()
	c.idleSince = c.opened.Add(-c.h.agedByTLS(l.TLSTook))
	if age := t.set.MaxConnAge; age > 0 {
		c.maxAge = age - time.Duration(t.set.Jitter()*float64(age)/10)
	}
	if c.h.speaksHTTP2(l) {
		c.limit = 1
		c.heard = health.NewArrivals(l.Conn)
		c.h2 = h2.NewConn(l.Conn, &t.set.h2, c)
	} else {
		c.openHTTP1(l.Conn)
	}
	c.watch = health.Watch(l.Conn, c.onPeerClose)
}

func (c *conn) openHTTP1(nc net.Conn) {
	c.probe = health.NewProbe(nc)
	if !c.probe.Sees() {
		c.vigil = health.NewVigil(nc, c.onVigilEnd)
		c.probe = health.NewProbe(c.vigil)
		nc = c.vigil
	}
	c.h1 = h1.NewConn(nc, &c.h.t.set.h1)
	c.late = c.h1.LookBy(c.probe)
}

// onPeerClose runs on the watcher's goroutine when the peer's FIN or RST has arrived. An
// idle connection leaves the pool; one in use finishes what it can and is retired when it
// comes back.
func (c *conn) onPeerClose() {
	c.peerClosed.Store(true)
	if c.h2 != nil {
		return // its read loop is about to find that too, and what has come before
	}
	if c.hooked() || c.trace != nil {
		go c.h.dropClosed(c, nil)
	} else {
		c.h.dropClosed(c, nil)
	}
}

// onVigilEnd runs on a goroutine of the vigil's, which found the end or surplus while the
// connection was idle.
func (c *conn) onVigilEnd(err error) { c.h.dropClosed(c, err) }

// rest says that nothing is asked of the connection from now on.
func (c *conn) rest() {
	if c.vigil != nil {
		c.vigil.Begin()
	}
}

// close ends the connection's watch and closes it. Never under host.mu.
func (c *conn) close() {
	c.watch.Stop()
	if c.h2 != nil {
		c.h2.Close()
	} else {
		c.h1.Close()
	}
}

// kill closes it under its user, whose error becomes err.
func (c *conn) kill(err error) {
	c.killed.Store(&err)
	if c.h2 != nil {
		c.h2.Kill(err)
	}
	c.close()
}

// idleLimit is the limit in force; zero: none.
func (c *conn) idleLimit() time.Duration {
	return c.h.idleLimit(c.announced, c.uses > 0).limit
}

// candidate is called under host.mu.
func (c *conn) candidate(now time.Time) candidate {
	cand := c.held(now)
	cand.outdated = c.epoch != c.h.epoch
	return cand
}

// held is what candidate says, but whether it is outdated. For an HTTP/1.1 connection
// whoever holds it can tell that without host.mu.
func (c *conn) held(now time.Time) candidate {
	var idle, old time.Duration
	if c.streams == 0 { // else others use it
		idle = age(now, c.idleSince)
	}
	if c.maxAge > 0 {
		old = age(now, c.opened)
	}
	return candidate{
		idle: idle, limit: c.idleLimit(),
		age: old, maxAge: c.maxAge,
		uses: c.uses, maxUses: c.h.cfg.MaxRequestsPerConn,
		peerClosed: c.peerClosed.Load(),
	}
}

// expires is when the connection has to leave the pool if it stays idle; zero: never. It is
// called under host.mu.
func (c *conn) expires() time.Time {
	var at time.Time
	limit := c.idleLimit()
	if c.state == connWitness {
		limit = c.h.known.used.disproof
	}
	if limit > 0 {
		at = c.idleSince.Add(limit)
	}
	if c.maxAge > 0 {
		if end := c.opened.Add(c.maxAge); at.IsZero() || end.Before(at) {
			at = end
		}
	}
	return at
}
