package scenario

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
)

// Many requests come at once to a host of which nothing is known, and whose handshake
// takes its time. HTTP/2 needs one connection. HTTP/1.1 needs one for each, or what the limit
// allows, and doesn't get them in a ramp of handshakes: the first finds out what is spoken,
// the others begin together behind it. The next burst knows.
func TestAStampedeTakesTwoHandshakes(t *testing.T) {
	const burst = 60
	var cases []func()
	for _, tt := range []struct {
		name        string
		protos      []string
		limit, then int // connections, and dials at a time behind the first
	}{
		{"HTTP/1.1", []string{"http/1.1"}, 0, burst - 1},
		{"HTTP/1.1 with a limit", []string{"http/1.1"}, 20, 19},
		{"HTTP/2", []string{"h2", "http/1.1"}, 0, 0},
		{"HTTP/2 with a limit", []string{"h2", "http/1.1"}, 10, 0},
	} {
		cases = append(cases, func() {
			t.Run(tt.name, func(t *testing.T) {
				r := newPart(t, overT)
				p := r.h2peer(peer.H2Options{TLS: &tls.Config{NextProtos: tt.protos}, Faults: peer.H2Faults{Delay: 20 * time.Millisecond}})
				hold := &turnstile{}
				tr := r.h2pool(pool.Config{MaxConnsPerHost: tt.limit, Base: &http.Transport{DialContext: hold.dial}})
				for round := range 2 {
					var calls []<-chan error
					for i := range burst {
						calls = append(calls, doer(tr.RoundTrip).start(newPatient(t, http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)])))
					}
					wantWaiting(t, tr, burst)
					least, most := 1, 2 // one that takes a second gets company
					if round > 0 && tt.then > 0 {
						least, most = 4, tt.then+1 // it is known what is spoken, and how long it took
					}
					if n := hold.gather(least); n < least || n > most {
						t.Errorf("round %d: %d dials at first, want %d to %d", round, n, least, most)
					}
					pause(60 * time.Millisecond) // the handshake takes its time
					if round == 0 && tt.then > 0 {
						hold.let(1)
						// The first connection may have served some before the others are counted.
						if n := hold.gather(tt.then * 3 / 4); n < tt.then*3/4 || n > tt.then {
							t.Errorf("%d dials behind the first, want %d", n, tt.then)
						}
					}
					hold.open()
					all(t, calls...)
					if !within(patience, func() bool { return gauges(tr).Dialing == 0 }) {
						t.Errorf("%+v", gauges(tr))
					}
					tr.CloseIdleConnections()
					hold.shut()
				}
				if n := p.Report().Requests; n != 2*burst || len(p.twice()) > 0 {
					t.Errorf("%d requests executed, twice: %v", n, p.twice())
				}
			})
		})
	}
	side(t, cases)
}

// A burst starts dials, and is served by connections that come free before they are done.
// What they open is kept for the next burst.
func TestABurstsSurplusIsKept(t *testing.T) {
	atOnce(t, func(t *testing.T, r *rig, sp speech) {
		const burst = 8
		s := r.depot(sp)
		hold := &turnstile{lifted: true}
		tr := r.client(sp, pool.Config{Base: &http.Transport{DialContext: hold.dial}})
		do := doer(tr.RoundTrip)
		hostOf(t, tr, s, s.url) // it is known what is spoken, and one connection is there
		hold.shut()
		var calls []<-chan error
		for range burst {
			calls = append(calls, do.start(newPatient(t, http.MethodPost, s.url, oneShot)))
		}
		wantWaiting(t, tr, burst-1)
		for range burst { // all by the one connection
			q := s.next(t)
			if q.conn != 0 {
				t.Errorf("request %s came on connection %d", q.id, q.conn)
			}
			letGo(t, q)
		}
		all(t, calls...)
		dials := int(tr.Stats().Total.Dials)
		hold.open()
		if dials < 2 || dials > burst {
			t.Errorf("%d dials for a burst of %d", dials, burst)
		}
		if !within(patience, func() bool { return gauges(tr) == counts{Open: dials, Idle: dials} }) {
			t.Errorf("of %d dials: %+v", dials, gauges(tr))
		}
		if total := tr.Stats().Total; total.DialsUnused != uint64(dials-1) || total.Closed != 0 || total.DialsFailed != 0 {
			t.Errorf("%d dials were unused of %d, %d failed; closed: %v", total.DialsUnused, dials, total.DialsFailed, total.ClosedBy)
		}
		calls, held := s.occupy(t, do, s.url, dials)
		if n := int(tr.Stats().Total.Dials); n != dials || s.conns() != dials {
			t.Errorf("a second burst: %d dials and %d connections, want %d", n, s.conns(), dials)
		}
		letGo(t, held...)
		all(t, calls...)
	})
}

// A connection reset before it took a byte is no ambiguity, and none after it took one is
// a proof: an overflowing accept queue costs no request a second execution, nor many tries.
func TestAnOverflowingServerIsNotStormed(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		const burst = 200
		p := r.peerIn(plain, func(c *peerConn) { _ = c.tcp.SetLinger(0) }) // and the end of the script is a RST
		url := p.url
		if r.mode.tls {
			url = "https" + strings.TrimPrefix(url, "http")
		}
		tr := r.pool(pool.Config{})
		together(burst, func(i int) {
			c := newPatient(t, http.MethodPost, url, bodyKinds[i%len(bodyKinds)])
			err := []front{bare, client}[i%2].over(tr).send(c)
			e := poolError(t, err)
			if unsent := e.Sent == 0; e.Phase.Unprocessed() != unsent || e.Reused || e.Timeout() {
				t.Errorf("%d bytes sent: %#v (%v)", e.Sent, e, err)
			}
			if err := c.body.misuse(); err != nil {
				t.Error(err)
			}
		})
		if n := p.conns(); n > 2*burst {
			t.Errorf("%d connections for %d requests", n, burst)
		}
	})
}
