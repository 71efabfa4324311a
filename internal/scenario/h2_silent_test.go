package scenario

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
)

const requestLimit = 300 * time.Millisecond // of each request here

// getWithin sends a GET that has requestLimit.
func getWithin(t *testing.T, do doer, url string) error {
	ctx, cancel := context.WithTimeout(t.Context(), requestLimit)
	defer cancel()
	return do.send(newCall(ctx, http.MethodGet, url, noBody))
}

// silentAfterOne is a peer whose first connection falls silent behind one answer. TCP
// still acknowledges.
func silentAfterOne(r *rig) *h2Peer {
	return r.h2peer(peer.H2Options{Faults: peer.H2Faults{SilentConns: 1, SilentAfter: 1}})
}

// A connection dies without a sign: a few requests notice, and the others go elsewhere.
func TestASilentConnectionIsReplaced(t *testing.T) {
	const quiet, answer = 400 * time.Millisecond, 400 * time.Millisecond
	eachH2(t, func(t *testing.T, r *rig) {
		p := silentAfterOne(r)
		tr := r.h2pool(pool.Config{Base: pings(quiet, answer)})
		do := doer(tr.RoundTrip)
		do.must(t, newPatient(t, http.MethodGet, p.url, noBody))
		failed := 0
		for err := getWithin(t, do, p.url); err != nil; err = getWithin(t, do, p.url) {
			wantPhase(t, label("request", failed+1), err, pool.PhaseSent)
			if failed++; failed > int((quiet+answer)/requestLimit)+1 {
				t.Fatalf("%d requests failed", failed)
			}
		}
		if failed == 0 {
			t.Error("the peer has answered on its silent connection")
		}
		for range 10 {
			do.must(t, newPatient(t, http.MethodGet, p.url, noBody))
		}
		p.wantClosed(t, 0)
		if p.conns() != 2 || p.conn(1).Executed != 11 {
			t.Errorf("%d connections, the second executed %d requests", p.conns(), p.conn(1).Executed)
		}
	})
}

// Without a quiet time in sight a request's timeout is the sign: what comes next doesn't
// have to find out for itself.
func TestATimeoutMakesItsConnectionSuspect(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		p := silentAfterOne(r)
		tr := r.h2pool(pool.Config{Base: pings(time.Hour, 100*time.Millisecond)})
		do := doer(tr.RoundTrip)
		do.must(t, newPatient(t, http.MethodGet, p.url, noBody))
		err := getWithin(t, do, p.url)
		wantPhase(t, "the first", err, pool.PhaseSent)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		for range 10 {
			do.must(t, newPatient(t, http.MethodGet, p.url, noBody))
		}
		p.wantClosed(t, 0)
		if p.conns() != 2 {
			t.Errorf("%d connections", p.conns())
		}
	})
}

// One stream hangs on a connection that answers its PINGs: that is this stream's problem,
// and nobody else's.
func TestAHungStreamCostsNobodyElse(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		p, asks := r.h2driven()
		tr := r.h2pool(pool.Config{Base: pings(50*time.Millisecond, patience)})
		ctx, cancel := context.WithCancel(t.Context())
		hung := doer(tr.RoundTrip).start(newCall(ctx, http.MethodPost, p.url, replayable))
		asks.next(t)
		if !within(patience, func() bool { return p.sum().Pings >= 2 }) {
			t.Errorf("%d PINGs while a stream was silent", p.sum().Pings)
		}
		for range 10 {
			done := doer(tr.RoundTrip).start(newPatient(t, http.MethodPost, p.url, oneShot))
			asks.next(t).answer(t)
			all(t, done)
		}
		cancel()
		wantPhase(t, "hung", <-hung, pool.PhaseSent)
		if s := p.sum(); p.conns() != 1 || s.PingPeak > 1 {
			t.Errorf("%d connections, %d PINGs unanswered at a time", p.conns(), s.PingPeak)
		}
	})
}

// strict is what strict servers take for a flood of PINGs.
var strict = peer.H2PingPolicy{MaxQuiet: 2, MinGap: 100 * time.Millisecond, MaxStrikes: 3}

// Servers count PINGs, and end a connection with too many. Health checks stay within
// that, also where most requests are cancelled.
func TestHealthChecksStayWithinServersLimits(t *testing.T) {
	const requests, workers = 300, 10
	orders := map[string]func(i int) bool{ // which request is let finish: a fifth
		"mixed":           func(i int) bool { return i%5 == 0 },
		"cancelled first": func(i int) bool { return i >= requests*4/5 },
	}
	for name, finishes := range orders {
		t.Run(name, func(t *testing.T) {
			eachH2(t, func(t *testing.T, r *rig) {
				f := peer.H2Faults{Ping: strict, Delay: 20 * time.Millisecond}
				p := r.h2peer(peer.H2Options{Faults: f})
				tr := r.h2pool(pool.Config{Base: pings(200*time.Millisecond, time.Second)})
				do := doer(tr.RoundTrip)
				do.must(t, newPatient(t, http.MethodGet, p.url, noBody))
				var next atomic.Int64
				together(workers, func(int) {
					for i := int(next.Add(1)) - 1; i < requests; i = int(next.Add(1)) - 1 {
						cancelOrSend(t, do, p.url, i, finishes(i))
					}
				})
				s := p.sum()
				if s.GoAwaysSent > 0 || s.PingPeak > 1 || p.conns() != 1 {
					t.Errorf("%d GOAWAYs, %d PINGs, %d unanswered at a time, %d connections", s.GoAwaysSent, s.Pings, s.PingPeak, p.conns())
				}
			})
		})
	}
}

// Neither are they too many for one answer that is long in coming.
func TestHealthChecksOfAHungStreamStayWithinServersLimits(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		f := peer.H2Faults{Ping: strict, Delay: time.Second}
		p := r.h2peer(peer.H2Options{Faults: f})
		do := doer(r.h2pool(pool.Config{Base: pings(50*time.Millisecond, patience)}).RoundTrip)
		do.must(t, newPatient(t, http.MethodPost, p.url, oneShot))
		if s := p.sum(); s.GoAwaysSent > 0 || s.Pings == 0 || s.PingPeak > 1 || p.conns() != 1 {
			t.Errorf("%d GOAWAYs, %d PINGs, %d unanswered at a time, %d connections", s.GoAwaysSent, s.Pings, s.PingPeak, p.conns())
		}
	})
}

// cancelOrSend sends the ith request, and lets it finish or gives up on it after 5 ms,
// by a deadline or by a cancel.
func cancelOrSend(t *testing.T, do doer, url string, i int, finish bool) {
	const early = 5 * time.Millisecond
	if finish {
		if err := do.send(newPatient(t, http.MethodGet, url, noBody)); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	if i%2 == 0 {
		ctx, cancel = context.WithTimeout(t.Context(), early)
	} else {
		time.AfterFunc(early, cancel)
	}
	defer cancel()
	err := do.send(newCall(ctx, http.MethodGet, url, noBody)) // nil where the machine was busy
	if err != nil && ctx.Err() == nil {
		t.Errorf("request %d, which was to be cancelled: %v", i, err)
	}
}
