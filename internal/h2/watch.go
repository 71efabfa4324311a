package h2

import (
	"context"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// watch ends what is left of the exchange with ctx, and with the request's deprecated Cancel
// channel: a body that nobody reads mustn't take the peer's concurrency for ever.
func (x *Exchange) watch(ctx context.Context) {
	var unhook func() bool
	var gone chan struct{}
	if ctx.Done() != nil {
		unhook = context.AfterFunc(ctx, func() { x.cancel(wire.EndCancelled, wire.Ended(ctx)) })
	}
	if x.req.Cancel != nil {
		gone = make(chan struct{})
		go func() {
			select {
			case <-x.req.Cancel:
				x.cancel(wire.EndCancelled, wire.ErrCanceled)
			case <-gone:
			}
		}()
	}
	x.c.mu.Lock()
	over := x.told
	if !over {
		x.unhook, x.gone = unhook, gone
	}
	x.c.mu.Unlock()
	if over {
		endWatch(unhook, gone)
	}
}

// unwatch ends the watch, if there is one. It's called when the owner is told, or before by
// Close.
func (x *Exchange) unwatch() {
	x.unwatched.Do(func() { endWatch(x.unhook, x.gone) })
}

func endWatch(unhook func() bool, gone chan struct{}) {
	if unhook != nil {
		unhook()
	}
	if gone != nil {
		close(gone)
	}
}

// cancel ends the exchange for this side's reasons: the peer is told, and nobody waits for
// that.
func (x *Exchange) cancel(why wire.End, err error) {
	c := x.c
	c.mu.Lock()
	if why == wire.EndTimeout || wire.IsTimeout(err) {
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
