package pool

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"example.com/connwise/dialer"
)

// AvoidAddr returns a context whose requests prefer another address of their host than addr, a
// connection's remote "ip:port" as in Error.Addr: one on which they have just failed, say. What
// ctx avoids already, it goes on to avoid. Package retry does this for each next attempt.
//
// It is a preference. A connection to another address is taken before one to addr, the newest
// idle one first; where there is none, but the host's name has more addresses, one is dialled,
// if nothing stands in the way of a dial, and addr is tried last there. Otherwise the request
// takes what it gets, and so it does when a connection comes free before its dial is done. With
// HTTP/2 no connection is opened beside one that takes requests. A dial hook (Base.DialContext)
// finds the addresses by dialer.Avoided.
func AvoidAddr(ctx context.Context, addr string) context.Context { return dialer.Avoid(ctx, addr) }

// addresses is what a host's dials have shown of its addresses.
type addresses struct {
	several atomic.Bool // there was a choice at some time: only then is it looked for what to avoid

	// Guarded by host.mu.
	named    int    // how many the last dial had
	lastAddr string // where it led
}

// noteAddrsLocked is called for a connection that was dialled.
func (h *host) noteAddrsLocked(c *conn) {
	h.named = c.link.Addrs
	if h.named > 1 || h.lastAddr != "" && h.lastAddr != c.addr {
		h.several.Store(true)
	}
	h.lastAddr = c.addr
}

// avoided is what the request asks to avoid, nil if there is no choice anyway.
func (c *call) avoided() []string {
	if !c.h.several.Load() {
		return nil
	}
	return dialer.Avoided(c.req.Context())
}

func (ws *wish) avoids(c *conn) bool { return slices.Contains(ws.avoid, c.addr) }

// pickElsewhereLocked is pickLocked for a wish that avoids addresses. If it has decided there
// may be no connection still: a dial is better than what there is.
func (h *host) pickElsewhereLocked(ws wish, now time.Time) (c *conn, wasIdle, decided bool) {
	if !ws.http1 {
		for _, c := range h.shared {
			if c.takesLocked() && !ws.caution.shuns(c) && !ws.avoids(c) {
				return c, false, true
			}
		}
	}
	for i := len(h.idle) - 1; i >= 0; i-- {
		if c := h.idle[i]; !ws.avoids(c) && ws.takes(c, now) {
			h.removeIdleAtLocked(i)
			return c, true, true
		}
	}
	return nil, false, h.dialsElsewhereLocked(ws, now)
}

// dialsElsewhereLocked tells whether a request that waits now gets a dial at once, and has
// reason to hope for another address by it.
func (h *host) dialsElsewhereLocked(ws wish, now time.Time) bool {
	if h.named <= len(ws.avoid) || h.proto == protocolHTTP2 || h.cfg.MaxConnsPerHost > 0 && h.twin() != nil {
		return false // with a twin, the last slot may be gone by then
	}
	return h.queue.len() >= h.dialing && h.canDialLocked() && h.windowOpenLocked() && !h.pausesLocked(now)
}

// settles tells whether a wish whose dial has failed should take what it avoided: that is
// there, and a preference is no reason to fail.
func (h *host) settles(ws *wish, err error) bool {
	if e, ok := err.(*Error); !ok || e.Phase != PhaseDial || len(ws.avoid) == 0 || ws.ctx.Err() != nil {
		return false
	}
	ws.avoid = nil
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.idle) > 0 && !h.t.closed()
}

// noteUseless remembers of a connection's address that it ended before it was of use, if it is
// the origin's own.
func (h *host) noteUseless(c *conn) {
	if h.route.Proxy == nil {
		h.t.set.dialer.Memory.Failed(c.addr)
	}
}

// noteUseful remembers that it was.
func (h *host) noteUseful(c *conn) { h.t.set.dialer.Memory.Worked(c.addr) }
