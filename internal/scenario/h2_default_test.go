package scenario

import (
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/fakenet"
	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
)

// What health checks do unasked, by a bubble's clock: the settings are all zero.

// inBubble runs test in a bubble, with a transport whose connections s serves.
func inBubble(t *testing.T, f peer.H2Faults, test func(*testing.T, doer, *peer.H2Server)) {
	synctest.Test(t, func(t *testing.T) {
		s := peer.NewH2(peer.H2Options{Faults: f, Body: func(q *peer.H2Request) []byte { return []byte(q.Field("x-request-id")) }})
		base := &http.Transport{Protocols: new(http.Protocols)}
		base.Protocols.SetUnencryptedHTTP2(true)
		base.DialContext = func(context.Context, string, string) (net.Conn, error) {
			client, server := fakenet.Pipe()
			go s.ServeConn(server)
			return client, nil
		}
		tr, err := pool.New(pool.Config{Base: base})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		defer tr.Close()
		test(t, tr.RoundTrip, s)
		if v := s.Report().Violations; len(v) > 0 {
			t.Errorf("violations: %q", v)
		}
	})
}

// bound is how long a silent connection may go unnoticed when nothing is configured.
const bound = 45 * time.Second

// A request without a deadline on a connection that has died ends all the same.
func TestUnaskedASilentConnectionIsFound(t *testing.T) {
	inBubble(t, peer.H2Faults{SilentConns: 1, SilentAfter: 1}, func(t *testing.T, do doer, s *peer.H2Server) {
		const url = "http://peer.test"
		do.must(t, newCall(t.Context(), http.MethodGet, url, noBody))
		start := time.Now()
		err := do.send(newCall(t.Context(), http.MethodPost, url, oneShot))
		wantPhase(t, "POST", err, pool.PhaseSent)
		if took := time.Since(start); took < time.Second || took > bound {
			t.Errorf("it took %v, want %v at most", took, bound)
		}
		do.must(t, newCall(t.Context(), http.MethodPost, url, oneShot))
		synctest.Wait()
		if rep := s.Report(); rep.Accepted != 2 || rep.PerConn[0].Open {
			t.Errorf("%+v", rep.PerConn)
		}
	})
}

// And one with requests that are given up one after the other is left soon.
func TestUnaskedTimeoutsLeaveASilentConnection(t *testing.T) {
	inBubble(t, peer.H2Faults{SilentConns: 1, SilentAfter: 1}, func(t *testing.T, do doer, s *peer.H2Server) {
		const url = "http://peer.test"
		do.must(t, newCall(t.Context(), http.MethodGet, url, noBody))
		start := time.Now()
		for failed := true; failed; {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			err := do.send(newCall(ctx, http.MethodGet, url, noBody))
			cancel()
			failed = err != nil
			if time.Since(start) > bound {
				t.Fatalf("after %v: %v", time.Since(start), err)
			}
		}
		if n := s.Report().Accepted; n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}

// Health costs little: few PINGs while an answer is long in coming, and none, or hardly
// any, on a connection without requests.
func TestUnaskedPingsAreFew(t *testing.T) {
	const long = 10 * time.Minute
	inBubble(t, peer.H2Faults{Delay: long}, func(t *testing.T, do doer, s *peer.H2Server) {
		do.must(t, newCall(t.Context(), http.MethodGet, "http://peer.test", noBody))
		busy := s.Report()
		if n := busy.Sum().Pings; n < 1 || n > int(long/(5*time.Second)) || busy.Sum().PingPeak != 1 {
			t.Errorf("%d PINGs in %v, %d unanswered at a time", n, long, busy.Sum().PingPeak)
		}
		time.Sleep(long)
		synctest.Wait()
		if n := s.Report().Sum().Pings - busy.Sum().Pings; n > int(long/(10*time.Second)) {
			t.Errorf("%d PINGs in %v without a request", n, long)
		}
	})
}
