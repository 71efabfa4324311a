package bench

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// burstWarm makes requests at a rate with bursts on top, after as many connections have
// been opened as a burst needs, and counts who had to wait for a new one all the same.
func burstWarm(ctx context.Context, r *rig) error {
	if err := r.warmUp(ctx); err != nil {
		return err
	}
	if _, native := r.client.(Caller); !native { // which tell no trace
		ctx = r.countDialled(ctx)
	}
	p := r.plan
	r.measure(func() { r.openLoop(ctx, http.MethodGet, arrivals(p.Rate, p.warmBurst, r.length)) })
	return nil
}

// countDialled counts the calls that get a new connection.
func (r *rig) countDialled(ctx context.Context) context.Context {
	r.dialled = new(atomic.Int64)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if !info.Reused {
				r.dialled.Add(1)
			}
		},
	})
}

// warmUp opens the connections that are wanted ready: by the client's Warm if it has
// one, otherwise by as many requests at once, which is how one does it without. These are
// left out where they would be half of the calls or more.
func (r *rig) warmUp(ctx context.Context) error {
	if w, ok := r.client.(warmer); ok {
		return w.Warm(ctx, r.urls[0].String(), r.ready)
	}
	if r.limit < int64(2*r.ready) {
		return nil
	}
	r.wave(ctx, r.take(r.ready), http.MethodGet)
	return r.steadied(ctx)
}

// A warmer opens connections before they are needed: so that n of them are there for
// requests to url.
type warmer interface {
	Warm(ctx context.Context, url string, n int) error
}

// steadied waits until the peer gets no new connections: a wave may leave dials under way.
func (r *rig) steadied(ctx context.Context) error {
	for last := -1; ; sleep(ctx, settlePoll) {
		n, err := r.count()
		if err != nil || ctx.Err() != nil || n.Accepted == last {
			return err
		}
		last = n.Accepted
	}
}
