package scenario

import (
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A wire passes on what comes, a FIN included, but takes its time: so requests and FINs pass
// each other on the way.
type slowWire struct {
	ln    net.Listener
	to    string
	delay time.Duration
	wg    sync.WaitGroup
}

func (r *rig) slowWire(to string, delay time.Duration) *slowWire {
	r.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	w := &slowWire{ln: ln, to: to, delay: delay}
	w.wg.Go(w.accept)
	r.onEnd(func() { ln.Close(); w.wg.Wait() })
	return w
}

func (w *slowWire) accept() {
	for {
		c, err := w.ln.Accept()
		if err != nil {
			return
		}
		w.wg.Go(func() {
			s, err := net.Dial("tcp", w.to)
			if err != nil {
				c.Close()
				return
			}
			var wg sync.WaitGroup
			wg.Go(func() { w.pass(c, s) })
			wg.Go(func() { w.pass(s, c) })
			wg.Wait()
			c.Close()
			s.Close()
		})
	}
}

// pass keeps what is under way in a channel. nil is the FIN.
func (w *slowWire) pass(from, to net.Conn) {
	type packet struct {
		due time.Time
		b   []byte
	}
	way := make(chan packet, 100)
	go func() {
		defer close(way)
		for {
			b := make([]byte, 4096)
			n, err := from.Read(b)
			if n > 0 {
				way <- packet{time.Now().Add(w.delay), b[:n]}
			}
			if err != nil {
				way <- packet{time.Now().Add(w.delay), nil}
				return
			}
		}
	}()
	for p := range way {
		pause(time.Until(p.due))
		if p.b == nil {
			to.(*net.TCPConn).CloseWrite()
		} else if _, err := to.Write(p.b); err != nil {
			from.(*net.TCPConn).CloseRead()
		}
	}
}

// Requests that come at about the time at which the peer's idle timeout closes their
// connections, with 5 ms for each way: what net/http loses by itself, what over a Guard, and
// what with retry on top of that. The Guard knows the timeout.
func TestGuardIdleRace(t *testing.T) {
	long(t)
	const timeout, oneWay, rounds = 800 * time.Millisecond, 5 * time.Millisecond, 5
	eachMode(t, func(t *testing.T, r *rig) {
		lanes := 30
		if r.mode.tls {
			lanes = 15 // their handshakes must not fill the machine: that makes races of its own
		}
		var auth *peer.Authority
		scheme := "http://"
		if r.mode.tls {
			var err error
			if auth, err = peer.NewAuthority(); err != nil {
				t.Fatal(err)
			}
			scheme = "https://"
		}
		srv, err := peer.Start(auth, peer.Faults{IdleTimeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		r.onEnd(srv.Close)
		url := scheme + r.slowWire(srv.Addr(), oneWay).ln.Addr().String()

		var conf *tls.Config
		if auth != nil {
			conf = &tls.Config{RootCAs: auth.Roots()}
		}
		guards := []*pool.Guard{nil, r.newGuard(pool.GuardConfig{ProxyIdleTimeout: timeout}), r.newGuard(pool.GuardConfig{ProxyIdleTimeout: timeout})}
		failed := make([]atomic.Int64, len(guards))
		together(lanes*len(guards), func(i int) {
			k := i % len(guards)
			tr := &http.Transport{TLSClientConfig: conf} // each lane has its own: one connection
			defer tr.CloseIdleConnections()
			var rt http.RoundTripper = tr
			if k > 0 {
				tr.DialContext = guards[k].DialContext
			}
			if k > 1 {
				rt = &retry.Transport{Base: tr}
			}
			pause(rand.N(timeout)) // so that they don't all dial at a time
			for range rounds {
				if err := post(rt, url); err != nil {
					failed[k].Add(1)
				}
				pause(gapAround(timeout))
			}
		})
		n, lost := int64(lanes*rounds), failed[0].Load()
		t.Logf("of %d POSTs failed: bare %d, Guard %d, Guard and retry %d", n, lost, failed[1].Load(), failed[2].Load())
		if lost < n/50 {
			t.Errorf("only %d of %d failed over the bare transport: the race isn't staged", lost, n)
		}
		if failed[1].Load() > lost/10 || failed[2].Load() > 0 {
			t.Errorf("failed: bare %d, Guard %d, Guard and retry %d", lost, failed[1].Load(), failed[2].Load())
		}
		for _, run := range srv.Report().Executed {
			if run.Count > 1 {
				t.Errorf("executed %d times: %+v", run.Count, run)
			}
		}
	})
}

// gapAround is a pause of 0.9 to 1.1 of d, mostly very near to it.
func gapAround(d time.Duration) time.Duration {
	spread := d / 10
	if rand.IntN(10) < 7 {
		spread = d / 60
	}
	return d - spread + rand.N(2*spread)
}

// post sends a POST with a small body that can be had again. The peer counts by the id.
func post(rt http.RoundTripper, url string) error {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader("some content"))
	if err != nil {
		return err
	}
	req.Header.Set(peer.HeaderID, strconv.FormatInt(lastID.Add(1), 10))
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return err
}
