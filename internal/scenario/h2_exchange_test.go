package scenario

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"

	"golang.org/x/net/http2"
)

// A connection that ends behind a whole request, without a GOAWAY, says nothing about
// it: it has run, and isn't sent again.
func TestAnH2ConnectionsEndBehindARequestIsNoProof(t *testing.T) {
	for _, style := range []peer.Style{peer.FIN, peer.BareFIN, peer.RST} {
		t.Run(string(style), func(t *testing.T) {
			eachH2(t, func(t *testing.T, r *rig) {
				for _, f := range []front{bare, retrying} {
					for _, reused := range []bool{false, true} {
						name := label(f.name, "reused:", reused)
						p, asks := r.h2driven()
						do := f.over(r.h2pool(pool.Config{}))
						if reused {
							done := do.start(newPatient(t, http.MethodGet, p.url, noBody))
							asks.next(t).answer(t)
							all(t, done)
						}
						c := newPatient(t, http.MethodPost, p.url, replayable)
						done := do.start(c)
						a := asks.next(t)
						a.Execute(a.q)
						a.Close(style)
						e := wantPhase(t, name, asks.endOf(t, name, done), pool.PhaseSent)
						if e.Reused != reused || e.Sent == 0 {
							t.Errorf("%s: %#v", name, e)
						}
						if n := p.count(c.id); n != 1 || p.conns() != 1 {
							t.Errorf("%s: executed %d times, %d connections", name, n, p.conns())
						}
					}
				}
			})
		})
	}
}

// An operator drops a host's connections under load: what is under way is finished, what
// begins later goes elsewhere at once, and no request notices.
func TestDrainUnderLoadFailsNoStream(t *testing.T) {
	const workers, rounds, drains = 8, 40, 10
	eachH2(t, func(t *testing.T, r *rig) {
		p := r.h2peer(peer.H2Options{Faults: peer.H2Faults{Delay: time.Millisecond}})
		tr := r.h2pool(pool.Config{})
		var sent atomic.Int64
		together(workers, func(i int) {
			do := fronts[i%3].over(tr)
			for k := range rounds {
				if err := do.send(newPatient(t, http.MethodPost, p.url, bodyKinds[k%len(bodyKinds)])); err != nil {
					t.Error(err)
				}
				if sent.Add(1)%(workers*rounds/drains) == 0 {
					tr.Drain(h2host(p))
				}
			}
		})
		if n := p.Report().Requests; n != workers*rounds || len(p.twice()) > 0 {
			t.Errorf("%d requests executed of %d, and more than once: %v", n, workers*rounds, p.twice())
		}
		if n := p.conns(); n < drains || n > 2*drains {
			t.Errorf("%d connections with %d drains", n, drains)
		}
	})
	eachH2(t, func(t *testing.T, r *rig) {
		p, asks := r.h2driven()
		tr := r.h2pool(pool.Config{})
		do := doer(tr.RoundTrip)
		calls, held := fill(t, do, p, asks, 3)
		tr.Drain(h2host(p))
		more, later := fill(t, do, p, asks, 1)
		if later[0].Num != 1 {
			t.Errorf("behind Drain a request came on connection %d", later[0].Num)
		}
		for _, a := range append(held, later...) {
			a.answer(t)
		}
		all(t, append(calls, more...)...)
		p.wantClosed(t, 0)
	})
}

// A body that fails is the caller's fault. It costs a stream, and not the connection.
func TestABodyThatFailsCostsItsStreamAlone(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		for _, f := range []front{bare, retrying} {
			for _, fail := range failures {
				for _, length := range []int64{-1, mib} {
					failsItsBody(t, r, f, label(f.name, fail.name, length), fail.text, fail.fail, fail.own, length)
				}
			}
		}
	})
}

func failsItsBody(t *testing.T, r *rig, f front, name, text string, fail func() error, own bool, length int64) {
	t.Helper()
	p := r.h2peer(peer.H2Options{})
	do := f.over(r.h2pool(pool.Config{}))
	do.must(t, newPatient(t, http.MethodGet, p.url, noBody))
	c, rep := reported(newPatient(t, http.MethodPost, p.url, noBody))
	body := func() *failing { return &failing{r: strings.NewReader(text), fail: fail} }
	first := body()
	c.Body, c.ContentLength = first, length
	c.GetBody = func() (io.ReadCloser, error) { return body(), nil }
	c.Header.Set("Idempotency-Key", c.id)
	err := do.send(c)
	if ce, ok := errors.AsType[*pool.CallerError](err); !ok || ce.Source != pool.CallerBody {
		t.Errorf("%s: it doesn't count as the caller's: %v", name, err)
	}
	if own && !errors.Is(err, errOwn) {
		t.Errorf("%s: the body's error isn't in the chain: %v", name, err)
	}
	do.must(t, newPatient(t, http.MethodPost, p.url, oneShot))
	if s := p.sum(); p.count(c.id) != 0 || p.conns() != 1 || rep.Retries != 0 || s.Cancelled != s.Streams-s.Received {
		t.Errorf("%s: executed %d times, %d retries, %d connections, %+v", name, p.count(c.id), rep.Retries, p.conns(), s)
	}
	if first.closed != 1 {
		t.Errorf("%s: the body was closed %d times", name, first.closed)
	}
}

// A body of another length than was announced never makes a request of that length.
func TestAnH2BodyOfAnotherLengthThanAnnounced(t *testing.T) {
	readers := map[string]func(string) io.ReadCloser{
		"in memory": func(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) },
		"stream":    func(s string) io.ReadCloser { return &onceBody{r: strings.NewReader(s)} },
		"in pieces": func(s string) io.ReadCloser { return &onceBody{r: &inPieces{s, max(5, len(s)/64)}} },
	}
	eachH2(t, func(t *testing.T, r *rig) {
		for _, wrong := range wrongLengths {
			for reader, of := range readers {
				for _, f := range []front{bare, retrying} {
					name := label(wrong.name, reader, f.name)
					p := r.h2peer(peer.H2Options{})
					do := f.over(r.h2pool(pool.Config{}))
					do.must(t, newPatient(t, http.MethodGet, p.url, noBody))
					c := newPatient(t, http.MethodPost, p.url, noBody)
					c.Body, c.ContentLength = of(wrong.text), wrong.length
					c.Header.Set("Idempotency-Key", c.id)
					err := do.send(c)
					if ce, ok := errors.AsType[*pool.CallerError](err); !ok || ce.Source != pool.CallerBody {
						t.Errorf("%s: it doesn't count as the caller's: %v", name, err)
					}
					do.must(t, newPatient(t, http.MethodPost, p.url, oneShot))
					if p.count(c.id) != 0 || p.conns() != 1 {
						t.Errorf("%s: executed %d times, %d connections", name, p.count(c.id), p.conns())
					}
				}
			}
		}
	})
}

// The deadline comes while the body is read: Read says so at once, the stream is reset
// and its slot free although nobody calls Close, and the connection goes on.
func TestADeadlineWhileAStreamDribbles(t *testing.T) {
	const deadline = 200 * time.Millisecond
	eachH2(t, func(t *testing.T, r *rig) {
		p := r.h2peer(peer.H2Options{Handler: dribbleH2})
		for _, f := range []front{bare, retrying} {
			tr := r.h2pool(pool.Config{MaxConnsPerHost: 1})
			do := f.over(tr)
			before := p.sum()
			do.must(t, newPatient(t, http.MethodPost, p.url, oneShot))
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			start := time.Now()
			resp, err := do(newCall(ctx, http.MethodGet, p.url, noBody).Request)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, resp.Body)
			took := time.Since(start)
			if n == 0 || !errors.Is(err, context.DeadlineExceeded) || !os.IsTimeout(err) || took < deadline || took > deadline+restTime/2 {
				t.Errorf("%s: %d bytes and %v after %v", f.name, n, err, took)
			}
			wantPhase(t, f.name, err, pool.PhaseResponse)
			if !within(restTime, func() bool { return gauges(tr).InUse == 0 }) {
				t.Errorf("%s: %+v", f.name, gauges(tr))
			}
			do.must(t, newPatient(t, http.MethodPost, p.url, oneShot))
			if s := p.sum(); s.Cancelled != before.Cancelled+1 {
				t.Errorf("%s: %d streams reset", f.name, s.Cancelled-before.Cancelled)
			}
			if n := tr.Stats().Total.Opened; n != 1 {
				t.Errorf("%s: %d connections", f.name, n)
			}
		}
	})
}

// dribbleH2 answers, a GET with a byte now and then until its stream is reset. The
// connection allows one stream at a time.
func dribbleH2(c *peer.H2Conn) {
	_ = c.Settings(maxStreams(1))
	var stop chan struct{}
	end := func() {
		if stop != nil {
			close(stop)
			stop = nil
		}
	}
	defer end()
	for {
		f, err := c.Read()
		if err != nil || c.Respond(f) != nil {
			return
		}
		switch q := f.Request; {
		case f.Type == http2.FrameRSTStream:
			end()
		case q == nil:
		case q.Field(":method") == http.MethodGet:
			c.Execute(q)
			_ = c.Headers(q.Stream, false, ":status", "200")
			stop = make(chan struct{})
			go trickle(c, q.Stream, stop)
		default:
			_ = c.Answer(q)
		}
	}
}

func trickle(c *peer.H2Conn, stream uint32, stop <-chan struct{}) {
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-tick.C:
			_ = c.Data(stream, false, []byte{'x'})
		case <-stop:
			return
		}
	}
}
