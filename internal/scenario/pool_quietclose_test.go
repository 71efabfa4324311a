package scenario

import (
	"net/http"
	"testing"

	"example.com/connwise/pool"
)

// A FIN or an RST that has arrived is decidable: it must be found before a byte is
// written, whatever the method and the body.
func TestAConnectionThatClosedWhileIdleIsNeverUsed(t *testing.T) {
	eachEnding(t, func(t *testing.T, r *rig, end ending) {
		for _, f := range fronts {
			t.Run(f.name, func(t *testing.T) { closedWhileIdle(t, newRig(t, r.mode), f, end) })
		}
	})
}

func closedWhileIdle(t *testing.T, r *rig, f front, end ending) {
	closed := make(chan struct{}, 1)
	p := r.peer(func(c *peerConn) {
		q, err := c.request()
		if err != nil {
			return
		}
		if c.answer(q) == nil {
			<-c.peer.gate
			end.close(c)
			closed <- struct{}{}
		}
	})
	tr := r.pool(pool.Config{})
	do := f.over(tr)
	const rounds = 16
	for i := range rounds {
		do.must(t, newCall(t.Context(), http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)]))
		p.gate <- struct{}{}
		<-closed
	}
	if p.received() != rounds || p.conns() != rounds {
		t.Errorf("%d requests and %d connections for %d rounds", p.received(), p.conns(), rounds)
	}
}
