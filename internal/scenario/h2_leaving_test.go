package scenario

import (
	"net/http"
	"slices"
	"testing"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"

	"golang.org/x/net/http2"
)

// The peer sends GOAWAY behind each answer and never closes: the client does.
func TestConnectionsThatWereToldToGoAreClosed(t *testing.T) {
	const rounds = 200
	eachH2(t, func(t *testing.T, r *rig) {
		p := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
			_ = c.Settings()
			if q, err := c.Request(); err == nil && c.Answer(q) == nil {
				_ = c.GoAway(q.Stream, http2.ErrCodeNo)
				ignoreH2(c)
			}
		}})
		tr := r.h2pool(pool.Config{})
		for range rounds {
			doer(tr.RoundTrip).must(t, newPatient(t, http.MethodGet, p.url, noBody))
			if g := gauges(tr); g.Open > 2 {
				t.Fatalf("%+v", g)
			}
			if !within(restTime, func() bool { return p.opened() <= 2 }) {
				t.Fatalf("%d connections are open at the peer", p.opened())
			}
		}
		if !within(restTime, func() bool { return p.opened() == 0 && gauges(tr) == counts{} }) {
			t.Errorf("at the end %d connections are open, %+v", p.opened(), gauges(tr))
		}
		if n := p.Report().Requests; n != rounds {
			t.Errorf("%d requests executed, want %d", n, rounds)
		}
	})
}

// Strict servers answer a GOAWAY that names a stream which they never opened with an
// error. There is no such stream without push, so ours names 0.
func TestOurGoAwayNamesNoStream(t *testing.T) {
	ends := map[string]func(*pool.Transport, string){
		"CloseIdleConnections": func(tr *pool.Transport, _ string) { tr.CloseIdleConnections() },
		"Drain":                func(tr *pool.Transport, host string) { tr.Drain(host) },
		"Close":                func(tr *pool.Transport, _ string) { _ = tr.Close() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			eachH2(t, func(t *testing.T, r *rig) {
				p := r.h2peer(peer.H2Options{})
				tr := r.h2pool(pool.Config{})
				for range 3 {
					doer(tr.RoundTrip).must(t, newPatient(t, http.MethodPost, p.url, oneShot))
				}
				end(tr, h2host(p))
				p.wantClosed(t, 0)
				want := []peer.H2Farewell{{Last: 0, Code: http2.ErrCodeNo}}
				if got := p.conn(0).GoAways; !slices.Equal(got, want) {
					t.Errorf("the client's GOAWAYs are %+v, want %+v", got, want)
				}
			})
		})
	}
}
