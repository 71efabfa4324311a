package scenario

import (
	"net/http"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"

	"golang.org/x/net/http2"
)

// oneStream has a peer take one stream at a time on each connection.
var oneStream = http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}

// Idle HTTP/2 connections are closed when CloseIdleConnections returns, busy ones when they
// are done.
func TestCloseIdleConnectionsClosesIdleH2Connections(t *testing.T) {
	const idle, busy = 12, 5
	eachH2(t, func(t *testing.T, r *rig) {
		p, asks := r.h2driven(oneStream)
		tr := r.h2pool(pool.Config{})
		client := &http.Client{Transport: &retry.Transport{Base: tr}}
		var calls []<-chan error
		for i := range idle + busy {
			calls = append(calls, doer(client.Do).start(newPatient(t, http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)])))
		}
		var held []ask
		for range idle + busy {
			held = append(held, asks.next(t))
		}
		for _, a := range held[busy:] {
			a.answer(t)
		}
		if !within(restTime, func() bool { g := gauges(tr); return g.InUse == busy && g.Idle >= idle && g.Dialing == 0 }) {
			t.Fatalf("with %d answers: %+v", idle, gauges(tr))
		}
		client.CloseIdleConnections()
		if g := gauges(tr); g != (counts{Open: busy, InUse: busy}) {
			t.Errorf("when CloseIdleConnections returned: %+v", g)
		}
		for _, a := range held[:busy] {
			a.answer(t)
		}
		all(t, calls...)
		if !within(restTime, func() bool { return gauges(tr) == (counts{}) && p.opened() == 0 }) {
			t.Errorf("when the last request was done: %+v, %d open at the peer", gauges(tr), p.opened())
		}
		before := p.conns()
		again := doer(client.Do).start(newPatient(t, http.MethodPost, p.url, oneShot))
		asks.nextOf(t, again).answer(t)
		all(t, again)
		if p.conns() != before+1 {
			t.Errorf("%d connections, want one more than %d", p.conns(), before)
		}
	})
}

// A host whose connections break with each request costs another host none of its own.
func TestAFailingHostCostsOthersNoH2Connection(t *testing.T) {
	const rounds = 4 // the pool pauses before it dials such a host again
	for _, style := range []peer.Style{peer.FIN, peer.BareFIN, peer.RST} {
		t.Run(string(style), func(t *testing.T) {
			eachH2(t, func(t *testing.T, r *rig) {
				good := r.h2peer(peer.H2Options{Handler: (*peer.H2Conn).Serve})
				bad := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
					if c.Settings() != nil {
						return
					}
					if _, err := c.Request(); err == nil {
						c.Close(style)
					}
				}})
				tr := r.h2pool(pool.Config{})
				do := doer(tr.RoundTrip)
				for i := range rounds {
					do.must(t, newPatient(t, http.MethodPost, good.url, bodyKinds[i%len(bodyKinds)]))
					err := do.send(newPatient(t, http.MethodPost, bad.url, bodyKinds[i%len(bodyKinds)]))
					if pe := poolError(t, err); pe.Phase.Unprocessed() || pe.Host != h2host(bad) {
						t.Errorf("%#v", pe)
					}
				}
				if good.conns() != 1 || good.sum().Executed != rounds {
					t.Errorf("the good host had %d connections and %d requests", good.conns(), good.sum().Executed)
				}
				if n := bad.Report().Requests; n != 0 { // it read them, and did nothing
					t.Errorf("the bad host executed %d requests", n)
				}
			})
		})
	}
}

// A second answer on a stream that is over is nobody's: neither the next request's, nor
// of those that share the connection.
func TestAnUnaskedAnswerOnAnH2StreamIsNeverDelivered(t *testing.T) {
	const rounds = 20
	second := func(c *peer.H2Conn, stream uint32) error {
		if err := c.Headers(stream, false, ":status", "200"); err != nil {
			return err
		}
		return c.Data(stream, true, []byte("another user's"))
	}
	for _, tt := range []struct {
		name  string
		ahead uint32 // of the stream that is over
	}{{"the same stream", 0}, {"the next stream", 2}} {
		t.Run(tt.name, func(t *testing.T) {
			eachH2(t, func(t *testing.T, r *rig) {
				p := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
					if c.Settings() != nil {
						return
					}
					for q, err := c.Request(); err == nil; q, err = c.Request() {
						if c.Answer(q) != nil || second(c, q.Stream+tt.ahead) != nil {
							return
						}
					}
				}})
				tr := r.h2pool(pool.Config{})
				for i := range rounds {
					do := fronts[i%len(fronts)].over(tr)
					err := do.send(newPatient(t, http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)]))
					if _, wrong := err.(*wrongAnswerError); wrong {
						t.Errorf("round %d: %v", i, err)
					} else if err != nil { // the breach crossed the request
						poolError(t, err)
					}
					// An answer to a stream that is yet to be opened is found before that.
					if tt.ahead > 0 && !within(restTime, func() bool { return gauges(tr) == (counts{}) }) {
						t.Errorf("round %d: %+v", i, gauges(tr))
					}
				}
				if len(p.twice()) > 0 {
					t.Errorf("executed more than once: %v", p.twice())
				}
			})
		})
	}
}

// The hint of a proxy or a server behind any way is heeded.
func TestOnNoWayIsTheAnnouncedTimeoutLost(t *testing.T) {
	const T = time.Second
	r := newRig(t, plain)
	var ps []*path
	for _, p := range r.paths(func(speech) manners {
		return manners{timeout: func() time.Duration { return T }, fields: []string{"Keep-Alive: timeout=1"}}
	}, func(*site) pool.Config { return pool.Config{} }) {
		if !p.h2 { // it has no such field
			ps = append(ps, p)
		}
	}
	eachPath(ps, func(i int, p *path) {
		l := p.pacer(bodyKinds[i%len(bodyKinds)])
		l.pace(t, T/4, T-time.Duration(i%8)*10*time.Millisecond)
		if l.reused != 1 || l.oldest >= T*9/10 {
			t.Errorf("%v: %d connections were reused, one after %v", p, l.reused, l.oldest)
		}
		if h := p.host(); h.IdleLimit > T*9/10 || h.IdleLimit < T/2 || h.IdleLimitSource != "announced" {
			t.Errorf("%v: limit %v (%s)", p, h.IdleLimit, h.IdleLimitSource)
		}
		p.once(t, 3)
	})
}
