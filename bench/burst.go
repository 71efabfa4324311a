package bench

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"example.com/connwise/internal/peer"
)

const (
	// settlePoll is the time between two looks at what a wave has left behind.
	settlePoll = 20 * time.Millisecond
	// settleLimit is how long that may take: net/http's dials under way end with the
	// handshake's limit, 10 s.
	settleLimit = 15 * time.Second
)

// A wave is what came of one wave of burst.
type wave struct {
	p50, p99 *float64 // microseconds, of the calls that got a 2xx answer; nil if none did
	dials    *int64   // nil with a target
}

// burst sends waves, each by a new client: one that has seen the server before may know
// what it speaks and how many dials at a time it takes well.
//
// The time that it takes to clear away a wave isn't in the figures; the CPU for it is,
// as dials that come too late for their wave are among what a client costs.
func burst(ctx context.Context, r *rig) error {
	var err error
	var took time.Duration
	r.measure(func() {
		for err == nil {
			n := r.more(ctx, r.callers)
			if n == 0 {
				return
			}
			var d time.Duration
			if d, err = r.coldWave(ctx, n); err == nil {
				err = r.renew()
			}
			took += d
		}
	})
	r.used.wall = took
	return err
}

// coldWave makes n calls at once, and returns how long they took. The rig keeps figures
// of it if it is a full one.
func (r *rig) coldWave(ctx context.Context, n int) (time.Duration, error) {
	before, err := r.count()
	if err != nil {
		return 0, err
	}
	all := r.latency
	r.latency = newLatencies()
	start := time.Now()
	r.wave(ctx, n, http.MethodGet)
	took := time.Since(start)
	after, err := r.settle(ctx)
	h := r.latency.sum()
	w := wave{p50: micros(h, 50), p99: micros(h, 99)}
	if r.peer != nil {
		w.dials = new(int64(after.Accepted - before.Accepted))
	}
	if n == r.callers {
		r.waves = append(r.waves, w)
	}
	all.merge(h)
	r.latency = all
	return took, err
}

// settle closes the client's connections until the peer has none left and gets no new
// ones, so that the dials which a wave left under way are neither of use to the next one
// nor in its way. A client that can't be told to close some is waited for all the same.
//
// A target isn't asked; renew closes what is idle.
func (r *rig) settle(ctx context.Context) (peer.Count, error) {
	if r.peer == nil {
		return peer.Count{}, nil
	}
	_, closes := r.client.(interface{ CloseIdleConnections() })
	for start, last := time.Now(), -1; ; sleep(ctx, settlePoll) {
		r.cool()
		n, err := r.count()
		switch {
		case err != nil || ctx.Err() != nil:
			return n, err
		case n.Accepted == last && (n.Open == 0 || !closes):
			return n, nil
		case time.Since(start) > settleLimit:
			return n, fmt.Errorf("bench: %d connections are still open %v after a wave", n.Open, settleLimit)
		}
		last = n.Accepted
	}
}

// count returns the peer's connections so far; none with a target.
func (r *rig) count() (peer.Count, error) {
	if r.peer == nil {
		return peer.Count{}, nil
	}
	return r.peer.count()
}

// renew puts a new client into the place of all that the rig has.
func (r *rig) renew() error {
	if err := r.closeClients(); err != nil {
		return err
	}
	r.clients = nil
	client, err := r.newClient()
	r.client = client
	return err
}
