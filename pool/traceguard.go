package pool

import "time"

// This file tells GuardConfig.Trace of what a Guard does.

// traceID is the TraceConn.ID of a dial that begins, zero if nobody asks.
func (h *guardHost) traceID() uint64 {
	if h.trace == nil {
		return 0
	}
	return traceIDs.Add(1)
}

// traceDialled tells of a dial that has opened c, or has failed, with c nil.
func (h *guardHost) traceDialled(id uint64, c *guardConn, e DialEvent) {
	if h.trace == nil || h.trace.Dialled == nil {
		return
	}
	if e.TraceConn = (TraceConn{TraceHost: TraceHost{Host: h.addr}, ID: id}); c != nil {
		e.Addr = remoteAddr(c.Conn)
	}
	tell(h.trace.Dialled, e)
}

func (h *guardHost) traceWait(took time.Duration, queue int, err error) {
	if h.trace != nil {
		tell(h.trace.Waited, WaitEvent{TraceHost: TraceHost{Host: h.addr}, Took: took, Queue: queue, Err: err})
	}
}

// traceConn is called with a Trace only.
func (c *guardConn) traceConn() TraceConn {
	return TraceConn{TraceHost: TraceHost{Host: c.h.addr}, ID: c.id, Addr: remoteAddr(c.Conn)}
}

func (c *guardConn) traceRefused(err *GuardError) {
	if t := c.h.trace; t != nil && t.Refused != nil {
		tell(t.Refused, RefuseEvent{TraceConn: c.traceConn(), Err: err})
	}
}

// retiredLocked is what there is to tell of the connection's end, but for what it is. c.mu is held.
// idle is what idleLocked says.
func (c *guardConn) retiredLocked(reason CloseReason, idle time.Duration) RetireEvent {
	e := RetireEvent{Reason: reason, InUse: idle < 0, Idle: max(idle, 0), Requests: -1}
	if c.noted && c.rest {
		e.How = c.how.String()
	}
	e.Stale = c.refusal != nil && c.refusal.Err == ErrPeerClosed
	return e
}

func (c *guardConn) traceRetired(e RetireEvent) {
	if t := c.h.trace; t != nil && t.Retired != nil {
		e.TraceConn, e.Age = c.traceConn(), max(age(time.Now(), c.opened), 0)
		tell(t.Retired, e)
	}
}
