package pool

import (
	"context"
	"net"
	"time"

	"example.com/connwise/dialer"
)

// A dial hook, or a Resolver, may go on when its dial has ended: it doesn't heed its context.
// Nobody waits for it, but it costs what a dial costs, and those to a host that hangs would
// pile up. So it counts in the dial window until it returns, or for lostFor: one that never
// does isn't to block the host.
const lostFor = 5 * time.Second

// A hookCall is a dial's call of its hook or its resolver. Guarded by host.mu.
type hookCall struct {
	h       *host
	running bool
	lost    bool // its dial has ended, and it counts in host.lost
}

// followHook makes the route's hooks, or the dialer's resolver, tell when they run. It returns
// nil if there are none. What it changes is the caller's copy.
func (h *host) followHook(d *dialer.Dialer, r *dialer.Route) *hookCall {
	_, std := d.Resolver.(*net.Resolver)
	resolves := d.Resolver != nil && !std
	if r.Connect == nil && r.ConnectTLS == nil && !resolves {
		return nil
	}
	k := &hookCall{h: h}
	r.Connect, r.ConnectTLS = k.told(r.Connect), k.told(r.ConnectTLS)
	if resolves {
		d.Resolver = &toldResolver{d.Resolver, k}
	}
	return k
}

type toldResolver struct {
	dialer.Resolver
	k *hookCall
}

func (r *toldResolver) LookupHost(ctx context.Context, host string) ([]string, error) {
	r.k.set(true)
	defer r.k.set(false)
	return r.Resolver.LookupHost(ctx, host)
}

func (k *hookCall) told(hook dialer.Hook) dialer.Hook {
	if hook == nil {
		return nil
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		k.set(true)
		defer k.set(false)
		return hook(ctx, network, addr)
	}
}

func (k *hookCall) set(running bool) {
	k.h.mu.Lock()
	defer k.h.mu.Unlock()
	if k.running = running; !running {
		k.foundLocked()
	}
}

// loseLocked is called when the dial has ended.
func (k *hookCall) loseLocked() {
	if k == nil || !k.running {
		return
	}
	k.lost = true
	k.h.lost++
	time.AfterFunc(lostFor, func() {
		k.h.mu.Lock()
		defer k.h.mu.Unlock()
		k.foundLocked()
	})
}

// foundLocked is called when the hook doesn't count any more.
func (k *hookCall) foundLocked() {
	if k.lost {
		k.lost = false
		k.h.lost--
		k.h.dialMissingLocked()
	}
}
