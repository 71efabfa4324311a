package h2

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// watch ends what is left of the exchange with ctx, and with the request's deprecated Cancel
// channel: a body that nobody reads mustn't take the peer's concurrency for ever.
func (x *Exchange) watch(ctx context.Context) {
	var stops []func()
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() { x.cancel(wire.EndCancelled, wire.Ended(ctx)) })
		stops = append(stops, func() { stop() })
	}
	if cancel := x.req.Cancel; cancel != nil {
		gone := make(chan struct{})
		stops = append(stops, sync.OnceFunc(func() { close(gone) }))
		go func() {
			select {
			case <-cancel:
				x.cancel(wire.EndCancelled, wire.ErrCanceled)
			case <-gone:
			}
		}()
	}
	if len(stops) == 0 {
		return
	}
	unwatch := func() {
		for _, f := range stops {
			f()
		}
	}
	x.c.mu.Lock()
	over := x.told
	if !over {
		x.unwatch = unwatch
	}
	x.c.mu.Unlock()
	if over {
		unwatch()
	}
}

// cancel ends the exchange for this side's reasons: the peer is told, and nobody waits for
// that.
func (x *Exchange) cancel(why wire.End, err error) {
	c := x.c
	c.mu.Lock()
	if why == wire.EndTimeout || errors.Is(err, context.DeadlineExceeded) {
		c.missedLocked(x, why == wire.EndTimeout)
	}
	if !x.wholeLocked() && c.failLocked(x, why, err, http2.ErrCodeCancel) {
		x.quit = true
		x.dropBodyLocked()
		x.poke()
	}
	c.writeAndUnlock()
}

// wholeLocked reports whether both sides are through, but for a Write that is under way and
// has the end of the request: there's nothing left to tell the peer.
func (x *Exchange) wholeLocked() bool { return x.peerEnd && x.endQueued && x.err == nil }

// dropBodyLocked gives back what is unread.
func (x *Exchange) dropBodyLocked() {
	n := x.body.drop()
	if n > 0 {
		x.c.unreadLocked(int32(n))
	}
}
