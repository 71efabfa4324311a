package scenario

import (
	"net/http"
	"testing"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"

	"golang.org/x/net/http2"
)

// A close that has arrived is found before a byte is written, with a GOAWAY in front of
// it or without.
func TestAnH2ConnectionThatClosedWhileIdleIsNeverUsed(t *testing.T) {
	const rounds = 16
	for _, style := range []peer.Style{peer.FIN, peer.BareFIN, peer.RST} {
		for _, goaway := range []bool{false, true} {
			t.Run(label(style, goaway), func(t *testing.T) {
				eachH2(t, func(t *testing.T, r *rig) {
					p, asks := r.h2driven()
					cfg, socks := pool.Config{}, sockets{}
					socks.watch(&cfg)
					tr := r.h2pool(cfg)
					do := doer(tr.RoundTrip)
					for i := range rounds {
						done := do.start(newPatient(t, http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)]))
						a := asks.nextOf(t, done)
						a.answer(t)
						all(t, done)
						if goaway {
							_ = a.GoAway(a.q.Stream, http2.ErrCodeNo)
						}
						a.Close(style)
						if !endArrived(socks.number(i)) {
							t.Fatal("the close hasn't arrived")
						}
					}
					if p.Report().Requests != rounds || p.conns() != rounds {
						t.Errorf("%d requests and %d connections for %d rounds", p.Report().Requests, p.conns(), rounds)
					}
				})
			})
		}
	}
}
