package pool

import (
	"sync/atomic"
	"time"
)

// A connTrace is what a connection has to remember for Config.Trace; nil without one.
type connTrace struct {
	to *Trace
	id uint64

	// holds keeps the order: Retired is told by the last who lets go. The connection itself is
	// one, until it is retired, and each request is one until Reused was told of it. A request
	// has the connection when it comes, so none comes after the last.
	holds atomic.Int32
	end   RetireEvent // written before the connection itself lets go

	// Guarded by host.mu.
	how   idleClose
	stale bool
}

// traceIDs are the TraceConn.IDs that were given.
var traceIDs atomic.Uint64

// newConnTrace is called when a dial begins.
func newConnTrace(t *Trace) *connTrace {
	if t == nil {
		return nil
	}
	tr := &connTrace{to: t, id: traceIDs.Add(1)}
	tr.holds.Store(1)
	return tr
}

func (tr *connTrace) letGo() {
	if tr.holds.Add(-1) == 0 {
		tell(tr.to.Retired, tr.end)
	}
}

func (tr *connTrace) noteHowLocked(how idleClose) {
	if tr != nil {
		tr.how = how
	}
}

func (tr *connTrace) noteStaleLocked() {
	if tr != nil {
		tr.stale = true
	}
}

func (h *host) traceHost() TraceHost { return TraceHost{h.key.addr, h.key.scheme, h.shownProxy} }

// traceConn is called with a Trace only.
func (c *conn) traceConn() TraceConn {
	tc := TraceConn{TraceHost: c.h.traceHost(), ID: c.trace.id, Addr: c.addr}
	switch {
	case c.h2 != nil:
		tc.Proto = protocolHTTP2.String()
	case c.h1 != nil:
		tc.Proto = protocolHTTP1.String()
	}
	return tc
}

// traceDialled tells of a dial that has opened c at now, before anybody gets c.
func (c *conn) traceDialled(now time.Time) {
	if c.trace == nil || c.trace.to.Dialled == nil {
		return
	}
	c.h.mu.Lock()
	ahead := c.ahead
	c.h.mu.Unlock()
	tell(c.trace.to.Dialled, DialEvent{TraceConn: c.traceConn(), Took: now.Sub(c.dialAt), Ahead: ahead})
}

// traceDialFailed tells of a dial that has failed. It is in nobody's hands any more.
func (c *conn) traceDialFailed(e DialEvent) {
	if c.trace != nil {
		e.TraceConn = c.traceConn()
		tell(c.trace.to.Dialled, e)
	}
}

// noteRetiredLocked notes what is to be told of c, which is about to leave the books. idle is
// what restedFor has said.
func (tr *connTrace) noteRetiredLocked(c *conn, reason CloseReason, idle time.Duration, now time.Time) {
	if tr == nil {
		return
	}
	tr.end = RetireEvent{
		TraceConn: c.traceConn(), Reason: reason, Age: max(age(now, c.opened), 0),
		InUse: idle < 0, Idle: max(idle, 0), Requests: c.uses, How: string(tr.how), Stale: tr.stale,
	}
}

// retired is called when c has left the books.
func (tr *connTrace) retired() {
	if tr != nil {
		tr.letGo()
	}
}
