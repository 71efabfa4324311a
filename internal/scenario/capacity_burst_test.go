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

// A hundred requests come at once to a host of which nothing is known, and whose handshake
// takes its time. HTTP/2 needs one connection. HTTP/1.1 needs a hundred, and doesn't get them
// in a ramp of handshakes: the first finds out what is spoken, the others come together. The
// next burst knows.
func TestAStampedeTakesTwoHandshakes(t *testing.T) {
	long(t)
	judged(t, 50*time.Millisecond, func(j *judge) { stampede(j, newRig(j.T, overT), stampedes[0]) })
	judged(t, 50*time.Millisecond, func(j *judge) {
		r := newRig(j.T, overT)
		together(len(stampedes)-1, func(i int) { stampede(j, r, stampedes[i+1]) })
	})
}

// A stampeded server speaks proto. So many connections and times of service are enough.
type stampeded struct {
	proto       string
	limit, most int
	rounds      time.Duration
}

var stampedes = []stampeded{{"http/1.1", 0, 100, 1}, {"http/1.1", 40, 40, 3}, {"h2", 0, 2, 1}}

func stampede(j *judge, r *rig, st stampeded) {
	const service, burst = 200 * time.Millisecond, 100
	o := peer.H2Options{TLS: &tls.Config{NextProtos: []string{st.proto}}, Faults: peer.H2Faults{Delay: service}}
	p := r.h2peer(o)
	tr := r.h2pool(pool.Config{MaxConnsPerHost: st.limit, Base: &http.Transport{DialContext: hookTo(r.lagging(p.Addr()))}})
	for round := range 2 {
		before, start := p.conns(), time.Now()
		together(burst, func(i int) {
			if err := doer(tr.RoundTrip).send(newPatient(j.T, http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)])); err != nil {
				j.Errorf("%+v: %v", st, err)
			}
		})
		took, conns := time.Since(start), p.conns()-before
		handshakes := time.Duration(2)
		if round > 0 || st.proto == "h2" {
			handshakes = 1 // the protocol is known, or doesn't matter
		}
		// A ramp would take two handshakes more; they need some of the CPU's time.
		if least := handshakes*slowHandshake + st.rounds*service; conns > st.most || took > least+slowHandshake*3/2 {
			j.Errorf("%+v, round %d: %d connections, %v, want about %v", st, round, conns, took, least)
		}
		if st.proto != "h2" && st.limit == 0 && conns < burst/2 {
			j.Errorf("%+v, round %d: %d connections for %d requests that take their time", st, round, conns, burst)
		}
		tr.CloseIdleConnections()
	}
	if n := p.Report().Requests; n != 2*burst || len(p.twice()) > 0 {
		j.Errorf("%+v: %d requests executed, twice: %v", st, n, p.twice())
	}
}

// A burst starts dials, and is served by connections that come free before they are done.
// What they open is kept for the next burst.
func TestABurstsSurplusIsKept(t *testing.T) {
	atOnce(t, func(t *testing.T, r *rig, sp speech) {
		const burst = 8
		s := r.depot(sp)
		h := &dialHook{}
		tr := r.client(sp, pool.Config{Base: &http.Transport{DialContext: h.dial}})
		do := doer(tr.RoundTrip)
		hostOf(t, tr, s, s.url) // it is known what is spoken, and one connection is there
		h.takes = slowHandshake
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
		dials := int(h.calls.Load())
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
		if n := int(h.calls.Load()); n != dials || s.conns() != dials {
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
