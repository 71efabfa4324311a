package pool

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A restRig is a pool with one idle connection, of which the server's end is in hand.
type restRig struct {
	testing.TB
	tr     *Transport
	url    string
	server chan net.Conn
}

func newRestRig(tb testing.TB, secure bool) *restRig {
	tb.Helper()
	r := &restRig{TB: tb, server: make(chan net.Conn, 10)}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		nc, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			tb.Error(err)
			return
		}
		io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		r.server <- nc
	}))
	base := &http.Transport{}
	if secure {
		srv.StartTLS()
		base.TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig
	} else {
		srv.Start()
	}
	tb.Cleanup(srv.Close)
	var err error
	if r.tr, err = New(Config{Base: base}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.tr.Close() })
	r.url = srv.URL
	return r
}

// idle leaves one connection idle, and returns the server's end of it.
func (r *restRig) idle() net.Conn {
	r.Helper()
	roundTrip(r, r.tr, r.url)
	nc := <-r.server
	r.Cleanup(func() { nc.Close() })
	return nc
}

// What comes without a FIN closes a connection that rests, soon and not at its next use.
func TestArrivalsEndARestingConnection(t *testing.T) {
	for name, tt := range map[string]struct {
		secure bool
		do     func(net.Conn) error
		cause  string
		reason CloseReason
	}{
		"close_notify": {true, func(nc net.Conn) error { return nc.(*tls.Conn).CloseWrite() }, "close_notify", ReasonPeerClosed},
		"408":          {false, func(nc net.Conn) error { return write(nc, "HTTP/1.1 408 Request Timeout\r\n\r\n") }, "408", ReasonUnsolicited},
		"408 in TLS":   {true, func(nc net.Conn) error { return write(nc, "HTTP/1.0 408 Request Timeout\r\n\r\n") }, "408", ReasonUnsolicited},
		"surplus":      {false, func(nc net.Conn) error { return write(nc, "HTTP/1.1 200 OK\r\n\r\n") }, "surplus", ReasonUnsolicited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestRig(t, tt.secure)
			nc := r.idle()
			if err := tt.do(nc); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the connection is gone", func() bool { return r.tr.Stats().Hosts[0].Open == 0 })
			if st := r.tr.Stats().Hosts[0]; st.ClosedBy[tt.reason] != 1 || st.IdleCloses[tt.cause] != 1 {
				t.Errorf("closed by %v, %v", st.ClosedBy, st.IdleCloses)
			}
		})
	}
}

func write(nc net.Conn, s string) error {
	_, err := io.WriteString(nc, s)
	return err
}

// Connections that rest are used again, any number of times, and rest again.
func TestRestingConnectionIsReused(t *testing.T) {
	r := newRestRig(t, true)
	nc := r.idle()
	for range 3 {
		h := r.tr.allHosts()[0]
		eventually(t, "the connection rests", func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return len(h.idle) == 1 && !h.idle[0].restless
		})
		go func() {
			b := make([]byte, 4096)
			nc.Read(b)
			write(nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}()
		roundTrip(t, r.tr, r.url)
	}
	if st := r.tr.Stats().Hosts[0]; st.Dials != 1 || st.Reused != 3 || st.Idle != 1 {
		t.Errorf("%d dials, %d reused, %d idle; want 1, 3 and 1", st.Dials, st.Reused, st.Idle)
	}
}

// The watcher is told when a connection that rests is used, or it would wake for the answer.
func TestAnswerOfAConnectionThatRestedWakesNobody(t *testing.T) {
	r := newRestRig(t, false)
	peers := r.idles(2)
	h := r.tr.allHosts()[0]
	eventually(t, "they rest", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.idle) == 2 && h.idle[0].rests && h.idle[1].rests
	})
	h.mu.Lock()
	used, other := h.idle[1], h.idle[0]
	h.mu.Unlock()
	var woken atomic.Bool
	later := make(chan struct{})
	used.watch.Rest(func() { woken.Store(true) })
	other.watch.Rest(func() { close(later) })
	nc := peers[used.nc.LocalAddr().String()]
	const large = 64 << 10 // more than is read before the caller asks: it is there to be seen
	go func() {
		nc.Read(make([]byte, 4096))
		write(nc, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", large, strings.Repeat("x", large)))
	}()
	req, err := http.NewRequest("GET", r.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := r.tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := write(peers[other.nc.LocalAddr().String()], "x"); err != nil {
		t.Fatal(err)
	}
	<-later // the watcher comes to what has arrived in its order
	if woken.Load() || used.uses != 2 {
		t.Errorf("woken: %v; the connection has carried %d requests, want 2", woken.Load(), used.uses)
	}
}

// A connection that was used while it rested rests later the next time, and until then a round
// over the hosts leaves it alone.
func TestRestIsForTheIdle(t *testing.T) {
	r := newRestRig(t, false)
	r.idle()
	h := r.tr.allHosts()[0]
	c := h.onlyIdle(t)
	steps := []struct {
		name  string
		idle  time.Duration // that the connection shows
		rests bool
		next  time.Duration // how long it has to idle before it rests, when it was used then
	}{
		{"too young", restAfter - 1, false, 0},
		{"the first time", restAfter, true, restTimes * restAfter},
		{"used at the same pace", restTimes*restAfter - 1, false, restTimes * restAfter},
		{"used more rarely", time.Second, true, restTimes * time.Second},
		{"at a pace that it met before", restTimes*time.Second - 1, false, restTimes * time.Second},
		{"after a night", 8 * time.Hour, true, mostRestAfter},
		{"not a second time", mostRestAfter - 1, false, mostRestAfter},
	}
	for _, s := range steps {
		h.mu.Lock()
		idleSince := c.idleSince
		h.restless, c.restless = []*conn{c}, true
		h.mu.Unlock()
		left := h.restIdle(idleSince.Add(s.idle)) > 0
		h.mu.Lock()
		rested := c.wakeLocked(s.idle)
		if rested != s.rests || left == s.rests || c.restAfter != s.next || c.wakeLocked(0) {
			t.Errorf("%s: rests %v, left %v, then waits %v; want %v, %v, %v", s.name, rested, left, c.restAfter, s.rests, !s.rests, s.next)
		}
		h.mu.Unlock()
	}
}

// onlyIdle returns h's one idle connection when it rests, so that no timer comes to it any more.
func (h *host) onlyIdle(t *testing.T) (c *conn) {
	t.Helper()
	eventually(t, "the connection rests, and nobody else is to", func() bool {
		l := &h.t.resting
		l.mu.Lock()
		at := !l.going && l.hosts == nil
		l.mu.Unlock()
		h.mu.Lock()
		defer h.mu.Unlock()
		if at = at && len(h.idle) == 1 && h.idle[0].rests; at {
			c = h.idle[0]
			c.rests = false
		}
		return at
	})
	return c
}

func TestRoundPause(t *testing.T) {
	for conns, want := range map[int]time.Duration{0: restAfter, 1: restAfter, 10_000: 200 * time.Millisecond, 1e6: mostRestAfter} {
		if got := roundPause(conns); got != want {
			t.Errorf("after a round that left %d: %v, want %v", conns, got, want)
		}
	}
}

// One timer goes round all hosts, and stops when there is nobody left.
func TestAllHostsRest(t *testing.T) {
	var rigs []*restRig
	first := newRestRig(t, false)
	for range 3 {
		r := newRestRig(t, false)
		r.tr = first.tr
		r.idle()
		rigs = append(rigs, r)
	}
	resting := func() (n int) {
		for _, h := range first.tr.allHosts() {
			h.mu.Lock()
			if len(h.idle) == 1 && h.idle[0].rests && !h.restListed && h.restless == nil {
				n++
			}
			h.mu.Unlock()
		}
		return n
	}
	eventually(t, "all rest", func() bool { return resting() == len(rigs) })
	l := &first.tr.resting
	eventually(t, "the rounds end", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return !l.going && l.hosts == nil
	})
}

// idles leaves n connections idle, and returns the server's ends of them by their addresses.
func (r *restRig) idles(n int) map[string]net.Conn {
	r.Helper()
	var resps []*http.Response
	peers := map[string]net.Conn{}
	for range n {
		req, err := http.NewRequest("GET", r.url, nil)
		if err != nil {
			r.Fatal(err)
		}
		resp, err := r.tr.RoundTrip(req)
		if err != nil {
			r.Fatal(err)
		}
		resps = append(resps, resp)
		nc := <-r.server
		r.Cleanup(func() { nc.Close() })
		peers[nc.RemoteAddr().String()] = nc
	}
	for _, resp := range resps {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return peers
}

// One that was looked at lies below others that rest. It's told of what comes, too.
func TestEveryIdleConnectionRests(t *testing.T) {
	r := newRestRig(t, false)
	peers := r.idles(3)
	h := r.tr.allHosts()[0]
	eventually(t, "they rest", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.idle) == 3 && h.restless == nil
	})
	h.mu.Lock()
	oldest := h.idle[0]
	h.mu.Unlock()
	oldest.watch.Use() // as when session tickets have come
	h.lookAtResting(oldest)
	if err := write(peers[oldest.nc.LocalAddr().String()], "HTTP/1.1 408 Request Timeout\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is gone", func() bool { return r.tr.Stats().Hosts[0].Open == 2 })
}
