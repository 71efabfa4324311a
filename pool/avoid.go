package pool

import (
	"context"
	"sync/atomic"

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

// noteUseless remembers of a connection's address that it ended before it was of use, if it is
// the origin's own.
func (h *host) noteUseless(c *conn) {
	if h.route.Proxy == nil {
		h.t.set.dialer.Memory.Failed(c.addr)
	}
}

// noteUseful remembers that it was.
func (h *host) noteUseful(c *conn) { h.t.set.dialer.Memory.Worked(c.addr) }
