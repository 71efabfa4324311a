package scenario

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// newGuard makes a Guard whose books are checked at the end, before the rig's.
func (r *rig) newGuard(cfg pool.GuardConfig) *pool.Guard {
	r.t.Helper()
	g, err := pool.NewGuard(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if !within(restTime, func() bool { return guardGauges(g) == (counts{}) }) {
			r.t.Errorf("%v after the end the guard's gauges are %+v", restTime, guardGauges(g))
		}
		total := g.Stats().Total
		var sum uint64
		for _, n := range total.ClosedBy {
			sum += n
		}
		if total.Opened != total.Closed || sum != total.Closed || total.Opened+total.DialsFailed != total.Dials {
			r.t.Errorf("the guard's books don't add up: %+v", total)
		}
	})
	return g
}

// guard makes a Guard, and an http.Transport over it as people have it.
func (r *rig) guard(cfg pool.GuardConfig) (*http.Transport, *pool.Guard) {
	r.t.Helper()
	g := r.newGuard(cfg)
	tr := &http.Transport{DialContext: g.DialContext, TLSClientConfig: clientTLS(""), MaxIdleConnsPerHost: 1000}
	r.t.Cleanup(tr.CloseIdleConnections)
	return tr, g
}

func guardGauges(g *pool.Guard) (sum counts) {
	for _, h := range g.Stats().Hosts {
		sum.Open += h.Open
		sum.Idle += h.Idle
		sum.InUse += h.InUse
		sum.Dialing += h.Dialing
		sum.Waiting += h.Waiting
	}
	return sum
}

// dated is what nearly all servers say, and what makes an answer in TLS as long as one is.
const dated = "Date: Mon, 30 Nov 2026 10:00:00 GMT"

// serveDated is serve with such answers.
func serveDated(c *peerConn) {
	for q, err := c.request(); err == nil; q, err = c.request() {
		if c.answer(q, dated) != nil {
			return
		}
	}
}

// A limit on connections holds whatever http.Transport does, and those who wait are served in time.
func TestGuardLimit(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		const limit, n = 3, 40
		var open, most atomic.Int32
		p := r.peer(func(c *peerConn) {
			if n := open.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer open.Add(-1)
			serveDated(c)
		})
		tr, g := r.guard(pool.GuardConfig{MaxConnsPerHost: limit, MaxWait: 10 * time.Second})
		together(n, func(i int) {
			for range 5 {
				if err := doer(tr.RoundTrip).send(newCall(t.Context(), http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)])); err != nil {
					t.Error(err)
				}
			}
		})
		if most.Load() > limit || g.Stats().Total.Waited == 0 {
			t.Errorf("%d connections at a time, %d dials waited", most.Load(), g.Stats().Total.Waited)
		}
	})
}

// A wait for a slot that takes too long fails as such, in time, and with retry on top isn't repeated.
func TestGuardWaitDeadline(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(func(c *peerConn) {
			for q, err := c.request(); err == nil; q, err = c.request() {
				if q.Method == http.MethodPut {
					<-c.peer.gate
				}
				if c.answer(q, dated) != nil {
					return
				}
			}
		})
		tr, g := r.guard(pool.GuardConfig{MaxConnsPerHost: 1, MaxWait: 50 * time.Millisecond})
		held := doer(tr.RoundTrip).start(newCall(t.Context(), http.MethodPut, p.url, noBody))
		if !within(patience, func() bool { return guardGauges(g).Open == 1 }) {
			t.Fatal("the first connection isn't opened")
		}
		do := doer((&retry.Transport{Base: tr}).RoundTrip)
		start := time.Now()
		err := do.send(newCall(t.Context(), http.MethodPost, p.url, replayable))
		if pe := poolError(t, err); pe.Phase != pool.PhaseWait || !errors.Is(err, pool.ErrWaitTimeout) || !pe.Timeout() {
			t.Errorf("%v", err)
		}
		if d := time.Since(start); d < 50*time.Millisecond || d > time.Second {
			t.Errorf("it took %v", d)
		}
		close(p.gate)
		all(t, held)
	})
}

// Requests that are cancelled while their dials wait leave no slot and no place in the queue.
func TestGuardCancelStorm(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(serveDated)
		tr, g := r.guard(pool.GuardConfig{MaxConnsPerHost: 2, MaxWait: 200 * time.Millisecond})
		together(200, func(i int) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%20)*100*time.Microsecond)
			defer cancel()
			doer(tr.RoundTrip).send(newCall(ctx, http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)]))
		})
		if !within(restTime, func() bool { c := guardGauges(g); return c.Waiting == 0 && c.Dialing == 0 && c.Open <= 2 }) {
			t.Errorf("long after: %+v", guardGauges(g))
		}
		doer(tr.RoundTrip).must(t, newCall(t.Context(), http.MethodPost, p.url, replayable))
	})
}

const guardTimeout = 100 * time.Millisecond // of the proxy, in the following

// A pause in an upload is no rest, however long; neither is one behind 100 Continue.
func TestGuardLetsUploadsPause(t *testing.T) {
	long(t)
	for _, expect := range []string{"", "100-continue"} {
		t.Run("Expect "+expect, func(t *testing.T) {
			eachMode(t, func(t *testing.T, r *rig) { pausingUploads(t, r, expect) })
		})
	}
}

func pausingUploads(t *testing.T, r *rig, expect string) {
	p := r.peer(func(c *peerConn) {
		for {
			req, err := http.ReadRequest(c.br)
			if err != nil {
				return
			}
			if req.Header.Get("Expect") != "" {
				io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
			}
			b, err := io.ReadAll(req.Body)
			if err != nil {
				return
			}
			c.answer(&received{req, req.Header.Get(idHeader), string(b)}, dated)
		}
	})
	tr, g := r.guard(pool.GuardConfig{ProxyIdleTimeout: guardTimeout})
	tr.ExpectContinueTimeout = 10 * time.Second
	for range 2 { // on a new connection, and on one that was used
		body, w := io.Pipe()
		c := newCall(t.Context(), http.MethodPost, p.url, noBody)
		c.Body, c.ContentLength = body, -1
		if expect != "" {
			c.Header.Set("Expect", expect)
		}
		done := doer(tr.RoundTrip).start(c)
		for range 3 {
			io.WriteString(w, "a piece of a body that comes in pieces of some length, as they do")
			pause(2 * guardTimeout)
		}
		w.Close()
		all(t, done)
	}
	if n := g.Stats().Total.Opened; n != 1 {
		t.Errorf("%d connections", n)
	}
}

// After 101 the connection is the caller's.
func TestGuardLetsUpgradedConnectionsIdle(t *testing.T) {
	r := newRig(t, plain)
	p := r.peer(func(c *peerConn) {
		if _, err := http.ReadRequest(c.br); err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		io.Copy(c, c.br)
	})
	tr, g := r.guard(pool.GuardConfig{ProxyIdleTimeout: guardTimeout})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	conn := resp.Body.(io.ReadWriteCloser)
	defer conn.Close()
	br := bufio.NewReader(conn)
	for range 3 {
		pause(2 * guardTimeout)
		const line = "GET / HTTP/1.1\n" // whatever it looks like
		if _, err := io.WriteString(conn, line); err != nil {
			t.Fatal(err)
		}
		if got, err := br.ReadString('\n'); got != line {
			t.Fatalf("%q, %v", got, err)
		}
	}
	conn.Close()
	if n := g.Stats().Total.ClosedBy[pool.ReasonUpgraded]; n != 1 {
		t.Errorf("closed by %v", g.Stats().Total.ClosedBy)
	}
}

// A stream that waits for its answer for longer than the limit, on a connection that is
// silent for so long, isn't harmed by the next request: the Guard made the handshake.
func TestGuardLetsStreamsWait(t *testing.T) {
	r := newRig(t, mode{"h2", true})
	p := r.h2peer(peer.H2Options{Faults: peer.H2Faults{Delay: 3 * guardTimeout}})
	cfg := clientTLS("")
	cfg.NextProtos = []string{"h2"}
	tr, g := r.guard(pool.GuardConfig{ProxyIdleTimeout: guardTimeout, TLSClientConfig: cfg})
	tr.DialTLSContext, tr.ForceAttemptHTTP2 = g.DialTLSContext, true
	do := doer(tr.RoundTrip)
	do.must(t, newPatient(t, http.MethodPost, p.url, replayable))
	long := do.start(newPatient(t, http.MethodPost, p.url, replayable))
	pause(2 * guardTimeout)
	do.must(t, newPatient(t, http.MethodPost, p.url, replayable))
	all(t, long)
	if p.conns() != 1 {
		t.Errorf("%d connections", p.conns())
	}
	if h := g.Stats().Hosts[0]; h.Proto != "HTTP/2.0" {
		t.Errorf("the guard takes it for %q", h.Proto)
	}
}

// A request whose connection is refused is sent on another one: by http.Transport if it has a
// GetBody, by retry also if it can be rewound, or if nothing was read from it. Otherwise it is
// given back, and nothing of it was sent.
func TestGuardAndBodies(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		file, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for _, tt := range []struct {
			kind     bodyKind
			rewind   bool
			bare, on bool // sent over the Guard alone, and with retry on top
		}{
			{noBody, false, true, true},
			{replayable, false, true, true},
			{oneShot, false, false, true},
			{oneShot, true, false, true},
		} {
			for _, top := range []bool{false, true} {
				p := r.peer(serveDated)
				tr, _ := r.guard(pool.GuardConfig{ProxyIdleTimeout: 20 * time.Millisecond})
				do, want := doer(tr.RoundTrip), tt.bare
				if top {
					do, want = (&retry.Transport{Base: tr}).RoundTrip, tt.on
				}
				do.must(t, newCall(t.Context(), http.MethodPost, p.url, noBody))
				pause(20 * time.Millisecond)
				c := newCall(t.Context(), http.MethodPost, p.url, tt.kind)
				if tt.rewind {
					rewindable(t, c, file)
				}
				err := do.send(c)
				_, refused := errors.AsType[*pool.GuardError](err)
				if sent := err == nil; sent != want || !sent && !refused || p.count(c.id) == 0 == sent {
					t.Errorf("%s, can be rewound %v, retry %v: %v, received %d times", tt.kind, tt.rewind, top, err, p.count(c.id))
				}
			}
		}
	})
}

// rewindable puts c's body into the file.
func rewindable(t *testing.T, c *call, file *os.File) {
	t.Helper()
	text, err := io.ReadAll(c.Body)
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteAt(text, 0)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.body, c.Body, c.ContentLength = nil, struct {
		io.ReadSeeker
		io.Closer
	}{file, io.NopCloser(nil)}, int64(len(text))
}

// Where http.Transport makes the handshake, HTTP/2 connections have the idle limit too. Their
// refusal is net/http's to report; retry has the proof that nothing was sent.
func TestGuardRefusesIdleH2(t *testing.T) {
	r := newRig(t, mode{"h2", true})
	var executed atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		io.Copy(io.Discard, q.Body)
		executed.Add(1)
		io.WriteString(w, q.Header.Get(idHeader))
	}))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{identity().cert}}
	srv.EnableHTTP2 = true
	srv.StartTLS()
	r.onEnd(srv.Close)
	tr, g := r.guard(pool.GuardConfig{ProxyIdleTimeout: guardTimeout})
	tr.ForceAttemptHTTP2 = true
	do := doer((&retry.Transport{Base: tr}).RoundTrip)
	const rounds = 4
	for range rounds {
		do.must(t, newPatient(t, http.MethodPost, srv.URL, replayable))
		pause(guardTimeout)
	}
	if n := executed.Load(); n != rounds {
		t.Errorf("%d requests executed of %d", n, rounds)
	}
	if n := g.Stats().Total.ClosedBy[pool.ReasonIdleLimit]; n != rounds-1 {
		t.Errorf("closed by %v", g.Stats().Total.ClosedBy)
	}
}

// Many connections that end at once leave at once, and each is told how.
func TestGuardMassClose(t *testing.T) {
	eachEnding(t, func(t *testing.T, r *rig, end ending) {
		const n = 60
		var in sync.WaitGroup
		in.Add(n)
		p := r.peer(func(c *peerConn) {
			q, err := c.request()
			if err != nil {
				return
			}
			in.Done()
			in.Wait() // so that each has a connection of its own
			if c.answer(q, dated) == nil {
				<-c.peer.gate
				end.close(c)
				return
			}
		})
		tr, g := r.guard(pool.GuardConfig{})
		do := doer(tr.RoundTrip)
		together(n, func(int) {
			if err := do.send(newCall(t.Context(), http.MethodPost, p.url, replayable)); err != nil {
				t.Error(err)
			}
		})
		close(p.gate)
		if !within(restTime, func() bool { return guardGauges(g) == (counts{}) }) {
			t.Errorf("long after the close: %+v", guardGauges(g))
		}
		how := map[string]string{"FIN": "fin", "bare FIN": "fin", "RST": "reset"}[end.name]
		if end.name == "FIN" && r.mode.tls {
			how = "close_notify"
		}
		if tot := g.Stats().Total; tot.ClosedBy[pool.ReasonPeerClosed] != n || tot.IdleCloses[how] != n {
			t.Errorf("closed by %v, while idle by %v", tot.ClosedBy, tot.IdleCloses)
		}
	})
}

// A Guard that isn't told the peer's timeout learns it, also where TLS says goodbye first.
func TestGuardLearnsTheTimeout(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		const timeout, rounds = 200 * time.Millisecond, 4
		p := r.peer(func(c *peerConn) {
			for {
				c.SetReadDeadline(time.Now().Add(timeout))
				q, err := c.request()
				if err != nil {
					c.Close()
					return
				}
				c.answer(q, dated)
			}
		})
		tr, g := r.guard(pool.GuardConfig{})
		do := doer(tr.RoundTrip)
		for i := range rounds {
			do.must(t, newCall(t.Context(), http.MethodPost, p.url, replayable))
			if !within(patience, func() bool { return g.Stats().Total.Closed == uint64(i+1) }) {
				t.Fatal("the peer doesn't close")
			}
		}
		h := g.Stats().Hosts[0]
		if h.LearntIdle < timeout-20*time.Millisecond || h.LearntIdle > timeout+100*time.Millisecond || h.IdleLimit >= timeout || h.IdleLimitSource != "learnt" {
			t.Errorf("learnt %v, the limit is %v (%s), closes: %v", h.LearntIdle, h.IdleLimit, h.IdleLimitSource, h.IdleCloses)
		}
		refused := func() bool { return g.Stats().Total.ClosedBy[pool.ReasonIdleLimit] > 0 }
		for try := 0; try < 5 && !refused(); try++ { // on a busy machine the peer may come first
			pause(h.IdleLimit)
			do.must(t, newCall(t.Context(), http.MethodPost, p.url, replayable))
		}
		if !refused() {
			t.Errorf("closed by %v", g.Stats().Total.ClosedBy)
		}
	})
}
