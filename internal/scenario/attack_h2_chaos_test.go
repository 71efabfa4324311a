package scenario

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"

	"golang.org/x/net/http2"
)

// A moody peer executes a request and answers it, or doesn't, and says so or not. Its stream
// limit goes up and down all the time. What it says is always true.
func moody(c *peer.H2Conn) {
	rnd := rand.New(rand.NewPCG(uint64(c.Num), 7))
	limits := []uint32{0, 1, 3, 100}
	if c.Settings(maxStreams(10)) != nil {
		return
	}
	left := 200 // a connection's life, in streams
	for {
		q, err := c.Request()
		if err != nil {
			return
		}
		if rnd.IntN(10) == 0 {
			_ = c.Settings(maxStreams(limits[rnd.IntN(len(limits))]))
			_ = c.Settings(maxStreams(limits[1+rnd.IntN(len(limits)-1)]))
		}
		if left--; left < 0 {
			walkOut(c, q, rnd)
			return
		}
		switch rnd.IntN(12) {
		case 0:
			_ = c.Reset(q.Stream, http2.ErrCodeRefusedStream)
		case 1: // executed, and nothing said
			c.Execute(q)
			_ = c.Reset(q.Stream, http2.ErrCodeProtocol)
		case 2:
			c.Execute(q)
			_ = c.Headers(q.Stream, false, ":status", "200")
			_ = c.Reset(q.Stream, http2.ErrCodeRefusedStream) // contradicts its own answer
		case 3: // early hints
			_ = c.Headers(q.Stream, false, ":status", "103", "link", "x")
			_ = c.Answer(q)
		default:
			_ = c.Answer(q)
		}
	}
}

// walkOut ends the connection, in one of many ways, while q is open.
func walkOut(c *peer.H2Conn, q *peer.H2Request, rnd *rand.Rand) {
	switch rnd.IntN(5) {
	case 0: // graceful, in two steps, with q served
		_ = c.GoAway(1<<31-1, http2.ErrCodeNo)
		_ = c.Answer(q)
		_ = c.GoAway(q.Stream, http2.ErrCodeNo)
		c.Linger()
	case 1: // q isn't served
		_ = c.GoAway(q.Stream-2, http2.ErrCodeNo)
		c.Linger()
	case 2: // q was, and the code sounds otherwise
		c.Execute(q)
		_ = c.GoAway(q.Stream, http2.ErrCodeRefusedStream)
		_ = c.Reset(q.Stream, http2.ErrCodeProtocol)
		c.Linger()
	case 3: // a GOAWAY, and a reset right behind it
		c.Execute(q)
		_ = c.GoAway(q.Stream, http2.ErrCodeInternal)
		c.Close(peer.RST)
	case 4:
		c.Execute(q)
		c.Close(peer.BareFIN)
	}
}

// POSTs at a moody peer: none is executed twice, what succeeds was executed, and what is said
// to be unprocessed was not. Nothing is left of all that, and nobody waits for ever.
func TestAttackChaos(t *testing.T) {
	long(t)
	eachH2(t, func(t *testing.T, r *rig) {
		for _, f := range []front{bare, retrying} {
			p := r.h2peer(peer.H2Options{Handler: moody})
			tr := r.h2pool(pool.Config{MaxConnsPerHost: 3})
			do := f.over(tr)
			const workers, each = 8, 150
			calls := make([][]*call, workers)
			errs := make([][]error, workers)
			together(workers, func(w int) {
				for i := range each {
					c := newPatient(t, http.MethodPost, p.url, bodyKinds[i%3])
					calls[w] = append(calls[w], c)
					errs[w] = append(errs[w], do.send(c))
				}
			})
			if runs := p.twice(); len(runs) > 0 {
				t.Errorf("%s: executed twice: %v", f.name, runs)
			}
			failed := 0
			for w := range calls {
				for i, c := range calls[w] {
					failed += judgeChaos(t, f, p, c, errs[w][i])
				}
			}
			t.Logf("%s: %d of %d failed on %d connections", f.name, failed, workers*each, p.conns())
			if failed == 0 || failed > workers*each/3 {
				t.Errorf("%s: %d failed", f.name, failed)
			}
			if !within(5*time.Second, func() bool { g := gauges(tr); return g.InUse == 0 && g.Waiting == 0 }) {
				t.Errorf("%s: gauges %+v", f.name, gauges(tr))
			}
		}
	})
}

// judgeChaos compares what a call was told with what has happened. It returns one if it failed.
func judgeChaos(t *testing.T, f front, p *h2Peer, c *call, err error) int {
	t.Helper()
	n := p.count(c.id)
	if err == nil {
		if n != 1 {
			t.Errorf("%s: call %s succeeded and was executed %d times", f.name, c.id, n)
		}
		return 0
	}
	var pe *pool.Error
	switch {
	case !errors.As(err, &pe):
		t.Errorf("%s: call %s: %T %v", f.name, c.id, err, err)
	case pe.Phase.Unprocessed() && n != 0:
		t.Errorf("%s: call %s is said to be unprocessed and was executed %d times: %v", f.name, c.id, n, err)
	case pe.Phase == pool.PhaseUnknown || pe.Timeout():
		t.Errorf("%s: call %s: %v", f.name, c.id, err)
	}
	return 1
}
