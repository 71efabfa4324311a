package scenario

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// hostileFirst is hostile until the peer's gate is closed, and answers everything after that.
func hostileFirst(l *ledger) script {
	bad := hostile(l)
	return func(c *peerConn) {
		select {
		case <-c.peer.gate:
			c.serveAny()
		default:
			bad(c)
		}
	}
}

// serveAny answers requests whatever they have for a body.
func (c *peerConn) serveAny() {
	for {
		req, err := http.ReadRequest(c.br)
		if err != nil {
			return
		}
		if req.Header.Get("Expect") != "" {
			c.say("HTTP/1.1 100 Continue\r\n\r\n")
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		c.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}
}

// A meddler calls what ends idle connections, again and again until stopped.
func meddle(tr *pool.Transport, host string) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
			switch n % 3 {
			case 0:
				tr.CloseIdleConnections()
			case 1:
				tr.Drain(host)
			case 2:
				tr.Stats()
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// hurried sends a request of a random kind with little time.
func hurried(t *testing.T, tr *pool.Transport, url string, rnd *rand.Rand) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.IntN(8000))*time.Microsecond)
	defer cancel()
	methods := []string{http.MethodGet, http.MethodPost, http.MethodPost, http.MethodDelete}
	method := methods[rnd.IntN(len(methods))]
	var body io.Reader
	if method == http.MethodPost && rnd.IntN(2) == 0 {
		body = strings.NewReader("some content")
		if rnd.IntN(2) == 0 {
			body = io.MultiReader(body)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return
	}
	if rnd.IntN(3) > 0 {
		io.Copy(io.Discard, resp.Body)
	}
	resp.Body.Close()
}

// wantAtOnce sends one plain request of each kind, which has to have its answer soon.
func wantAtOnce(t *testing.T, tr *pool.Transport, url string) {
	t.Helper()
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		req, err := http.NewRequestWithContext(ctx, method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Errorf("%s after the storm: %v; %+v", method, err, gauges(tr))
		} else {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		cancel()
	}
}

// However many hurried requests compete for one or two connections, whose peer ends them in each
// moment, and which others close, drain and ask to be confirmed: then a plain one goes through
// at once.
func TestAttackNothingIsStuckBehindAStorm(t *testing.T) {
	long(t)
	const workers, rounds = 40, 2000
	for limit := 1; limit <= 2; limit++ {
		for _, after := range []time.Duration{0, 1, time.Millisecond} {
			t.Run("limit "+strconv.Itoa(limit)+", confirmed after "+after.String(), func(t *testing.T) {
				eachMode(t, func(t *testing.T, r *rig) {
					p := r.peer(hostileFirst(newLedger()))
					tr := r.pool(pool.Config{MaxConnsPerHost: limit, ConfirmAfter: after})
					stop := meddle(tr, p.addr)
					together(workers, func(w int) {
						rnd := rand.New(rand.NewPCG(uint64(w), 11))
						for range rounds / workers {
							hurried(t, tr, p.url, rnd)
						}
					})
					stop()
					close(p.gate)
					tr.CloseIdleConnections() // they are hostile ones
					if !within(restTime, func() bool { return gauges(tr) == (counts{}) }) {
						t.Errorf("%v after the storm: %+v", restTime, gauges(tr))
					}
					wantAtOnce(t, tr, p.url)
				})
			})
		}
	}
}

// The same over HTTP/2, where connections answer a PING before.
func TestAttackNothingIsStuckBehindAStormOfHTTP2(t *testing.T) {
	const workers, rounds = 40, 2000
	eachH2(t, func(t *testing.T, r *rig) {
		url := r.serveNetHTTP(mess)
		host := url[strings.LastIndex(url, "/")+1:]
		tr := r.h2pool(pool.Config{MaxConnsPerHost: 1, ConfirmAfter: 1})
		stop := meddle(tr, host)
		together(workers, func(w int) {
			rnd := rand.New(rand.NewPCG(uint64(w), 13))
			for range rounds / workers {
				hurried(t, tr, url+"/?n="+strconv.Itoa(rnd.IntN(6)), rnd)
			}
		})
		stop()
		wantAtOnce(t, tr, url+"/?n=0")
	})
}

// While connections become idle, rest, are witnesses and are closed by their peer, all at once,
// the transport is drained, shut down and closed.
func TestAttackEndsCrossEnds(t *testing.T) {
	const conns, rounds = 24, 6
	eachMode(t, func(t *testing.T, r *rig) {
		for round := range rounds {
			var answered atomic.Int64
			p := r.peer(func(c *peerConn) {
				if _, err := http.ReadRequest(c.br); err != nil {
					return
				}
				answered.Add(1)
				if !within(patience, func() bool { return answered.Load() >= conns }) {
					return // so that no connection serves two
				}
				c.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				select {
				case <-c.peer.gate:
				case <-c.peer.over:
				}
				endings[c.num%len(endings)].close(c)
			})
			tr := r.pool(pool.Config{})
			together(conns, func(int) { wantOne(t, tr, p.url) })
			if round%2 == 0 {
				pause(time.Duration(round*20) * time.Millisecond) // 50 ms: they rest
			}
			acts := []func(){
				func() { close(p.gate) },
				tr.CloseIdleConnections,
				func() { tr.Drain(p.addr) },
				func() { tr.Stats() },
				func() { shutDown(t, tr) },
				func() { tr.Close() },
			}
			together(len(acts), func(i int) {
				pause(time.Duration(rand.IntN(3000)) * time.Microsecond)
				acts[i]()
			})
		}
	})
}

func wantOne(t *testing.T, tr *pool.Transport, url string) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

func shutDown(t *testing.T, tr *pool.Transport) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := tr.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}
