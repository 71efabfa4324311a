package scenario

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// Every failure is told apart by fields and by errors.Is and errors.As, through every
// layer that people put on top. No caller has to read an error's text.

var errWhy = errors.New("the user has left")

// handshakeAtLeast is long enough for a handshake on a busy machine.
const handshakeAtLeast = 300 * time.Millisecond

// A mishap makes a request fail, and says what has to be known of it then.
type mishap struct {
	name    string
	play    script
	config  func(*pool.Config)
	ctx     func(context.Context) (context.Context, context.CancelFunc)
	cancel  bool // cancel when the peer has the request, with errWhy as the cause
	phase   pool.Phase
	timeout bool
	is      []error
	isNot   []error
}

// keeps reads a request and says nothing.
func keeps(c *peerConn) {
	if _, err := c.whole(); err == nil {
		c.drain()
	}
}

var mishaps = []mishap{
	{
		name: "reset after the request", phase: pool.PhaseSent, is: []error{syscall.ECONNRESET},
		play:  func(c *peerConn) { c.whole(); leaveRST.by(c) },
		isNot: []error{context.Canceled, context.DeadlineExceeded, pool.ErrClosed},
	},
	{
		name: "closed after the request", phase: pool.PhaseSent, is: []error{io.EOF},
		play: func(c *peerConn) { c.whole(); leaveFIN.by(c) },
	},
	{
		name: "no HTTP", phase: pool.PhaseResponse, isNot: []error{io.EOF, context.Canceled},
		play: func(c *peerConn) { c.whole(); c.say("SSH-2.0-OpenSSH_9.2\r\n\r\n"); c.drain() },
	},
	{
		name: "no answer within the transport's limit", phase: pool.PhaseSent, timeout: true, play: keeps,
		config: func(c *pool.Config) { c.Base.ResponseHeaderTimeout = 50 * time.Millisecond },
		isNot:  []error{context.Canceled},
	},
	{
		name: "no answer before the deadline", phase: pool.PhaseSent, timeout: true, play: keeps,
		ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, handshakeAtLeast)
		},
		is: []error{context.DeadlineExceeded}, isNot: []error{context.Canceled},
	},
	{
		name: "no answer before a deadline with a cause", phase: pool.PhaseSent, timeout: true, play: keeps,
		ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, handshakeAtLeast, errWhy)
		},
		is: []error{context.DeadlineExceeded, errWhy}, isNot: []error{context.Canceled},
	},
	{
		name: "cancelled while the answer is awaited", phase: pool.PhaseSent, play: keeps, cancel: true,
		is: []error{context.Canceled, errWhy}, isNot: []error{context.DeadlineExceeded},
	},
	{
		name: "cancelled while the answer's body is read", phase: pool.PhaseResponse, cancel: true,
		play: func(c *peerConn) { c.whole(); c.say("%sContent-Length: 10\r\n\r\nhalf", okHead); c.drain() },
		is:   []error{context.Canceled, errWhy}, isNot: []error{context.DeadlineExceeded},
	},
	{
		name: "no capacity", phase: pool.PhaseWait, timeout: true, play: keeps,
		config: func(c *pool.Config) { c.MaxConnsPerHost, c.MaxWait = 1, 50*time.Millisecond },
		is:     []error{pool.ErrWaitTimeout}, isNot: []error{context.Canceled},
	},
}

func TestEveryFailureIsToldApartByFields(t *testing.T) {
	eachFront(t, func(t *testing.T, r *rig, f front) {
		for _, m := range mishaps {
			got := make(chan struct{}, 8)
			p := r.peer(func(c *peerConn) {
				if c.arrives() {
					got <- struct{}{}
					m.play(c)
				}
			})
			cfg := pool.Config{Base: &http.Transport{}}
			if m.config != nil {
				m.config(&cfg)
			}
			tr := r.pool(cfg)
			do := f.over(tr)
			ctx, stop := context.WithCancelCause(t.Context())
			end := func() { stop(nil) }
			if m.phase == pool.PhaseWait {
				busy := newCall(ctx, http.MethodPost, p.url, replayable)
				done := make(chan error, 1)
				go func() { done <- doer(tr.RoundTrip).send(busy) }()
				<-got
				end = func() { stop(nil); <-done }
			}
			c := newCall(ctx, http.MethodPost, p.url, replayable)
			if m.ctx != nil {
				limited, free := m.ctx(ctx)
				defer free()
				c.Request = c.WithContext(limited)
			}
			if m.cancel {
				go func() { <-got; stop(errWhy) }()
			}
			wantMishap(t, m, p, do.send(c))
			end()
		}
	})
}

func wantMishap(t *testing.T, m mishap, p *rawPeer, err error) {
	t.Helper()
	e := poolError(t, err)
	if e.Phase != m.phase && (m.phase != pool.PhaseResponse || e.Phase != pool.PhaseSent || !m.cancel) {
		t.Errorf("%s: the phase is %v, want %v: %v", m.name, e.Phase, m.phase, err)
	}
	ne, ok := errors.AsType[net.Error](err)
	if !ok || ne.Timeout() != m.timeout || e.Timeout() != m.timeout {
		t.Errorf("%s: a net.Error: %v, Timeout %v, want %v", m.name, ok, e.Timeout(), m.timeout)
	}
	for _, is := range m.is {
		if !errors.Is(err, is) {
			t.Errorf("%s: %q isn't in the chain of %v", m.name, is, err)
		}
	}
	for _, not := range m.isNot {
		if errors.Is(err, not) {
			t.Errorf("%s: %q is in the chain of %v", m.name, not, err)
		}
	}
	if e.Host != p.addr {
		t.Errorf("%s: host %q, want %q", m.name, e.Host, p.addr)
	}
	held := m.phase != pool.PhaseWait
	if held != (e.Addr == p.addr) || held != (e.Proto == "HTTP/1.1") || held != (e.Sent > 0) || e.Reused {
		t.Errorf("%s: addr %q, proto %q, %d bytes sent, reused %v", m.name, e.Addr, e.Proto, e.Sent, e.Reused)
	}
	if !held && (e.Waited < 50*time.Millisecond || e.Queued != 1) {
		t.Errorf("%s: waited %v among %d", m.name, e.Waited, e.Queued)
	}
}

// What the error says of the connection is what happened to it.
func TestAFailureOnAReusedConnectionSaysHowLongItWasIdle(t *testing.T) {
	const pause = 60 * time.Millisecond
	eachFront(t, func(t *testing.T, r *rig, f front) {
		p := r.peer(crosses(leaveRST))
		do := f.over(r.pool(pool.Config{}))
		warm(t, do, p.url, true)
		before := time.Now()
		<-time.After(pause) // the idle time itself
		e := wantAmbiguous(t, do.send(newCall(t.Context(), http.MethodPost, p.url, replayable)), true)
		if e.Idle < pause || e.Idle > time.Since(before)+pause {
			t.Errorf("idle for %v, want about %v", e.Idle, pause)
		}
	})
}

// http.Client wraps what it gets, in a type of its own. Only its own Timeout makes it
// replace the error by a text.
func TestAClientsErrorKeepsTheFacts(t *testing.T) {
	const limit = 100 * time.Millisecond
	for _, own := range []bool{false, true} {
		r := newRig(t, plain)
		p := r.peer(keeps)
		hc := &http.Client{Transport: &retry.Transport{Base: r.pool(pool.Config{})}}
		start := time.Now()
		ctx := t.Context()
		if own {
			hc.Timeout = limit
		} else {
			limited, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			ctx = limited
		}
		err := doer(hc.Do).send(newCall(ctx, http.MethodGet, p.url, noBody))
		ue, ok := errors.AsType[*url.Error](err)
		if !ok || !ue.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the limit isn't told as one: %v", err)
		}
		if !own && poolError(t, err).Phase != pool.PhaseSent || p.received() != 1 {
			t.Errorf("%v; %d requests", err, p.received())
		}
		if d := time.Since(start); d < limit || d > patience/2 {
			t.Errorf("it took %v", d)
		}
	}
}

// dead listens and closes again: nobody answers at its address.
func dead(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func TestARefusedConnectionIsAProofWithAStageAndAnErrno(t *testing.T) {
	eachFront(t, func(t *testing.T, r *rig, f front) {
		scheme := "http://"
		if r.mode.tls {
			scheme = "https://"
		}
		for _, k := range cargoes {
			addr := dead(t)
			tr := r.pool(pool.Config{})
			c := newUpload(t, t.Context(), http.MethodPost, scheme+addr, k, "charge 10")
			c, rep := reported(c)
			do := f.over(tr)
			if f.name == retrying.name {
				do = over(tr, quick(retry.Default()))
			}
			err := do.send(c)
			e := poolError(t, err)
			d, ok := errors.AsType[*dialer.Error](err)
			if !ok || d.Stage != dialer.StageConnect || len(d.Tries) != 1 || d.Tries[0].Addr != addr {
				t.Errorf("%s: %+v", k.name, d)
			}
			if e.Phase != pool.PhaseDial || !e.Phase.Unprocessed() || e.Sent != 0 || e.Reused || e.BodyTouched || e.Timeout() {
				t.Errorf("%s: %+v", k.name, e)
			}
			if runtime.GOOS != "windows" && !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s: no ECONNREFUSED in %v", k.name, err)
			}
			// With retries: three attempts, as no body is read from.
			dials := uint64(1)
			if f.name == retrying.name {
				dials = 3
			}
			if n := tr.Stats().Total.Dials; n != dials || rep.Retries != int(dials)-1 {
				t.Errorf("%s: %d dials, %d retries, want %d and one less", k.name, n, rep.Retries, dials)
			}
			if c.body != nil && c.body.reads.Load() != 0 {
				t.Errorf("%s: %d reads of a body that was never to be sent", k.name, c.body.reads.Load())
			}
		}
	})
}

// A connection that isn't made in time stays what it is: a timeout of the dial, which has
// nothing to do with a connection that was reused, and is dialled once.
func TestAConnectTimeoutStaysAConnectTimeout(t *testing.T) {
	const limit = 150 * time.Millisecond
	r := newRig(t, plain)
	for _, method := range methods {
		tr := r.pool(pool.Config{Base: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}})
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err := over(tr, retry.Default()).send(newCall(ctx, method, "http://origin.invalid/", noBody))
		cancel()
		e := poolError(t, err)
		if e.Phase != pool.PhaseDial || !e.Timeout() || !errors.Is(err, context.DeadlineExceeded) || e.Reused || errors.Is(err, pool.ErrWaitTimeout) {
			t.Errorf("%s: %+v", method, e)
		}
		if n := tr.Stats().Total.Dials; n != 1 {
			t.Errorf("%s: %d dials", method, n)
		}
		tr.Close()
	}
}

// The peer's silent close and the caller's own doing can be told apart in the stats.
func TestTheStatsTellThePeersCloseFromTheCallersCancel(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(crosses(leaveFIN))
		tr := r.pool(pool.Config{})
		warm(t, tr.RoundTrip, p.url, true)
		wantAmbiguous(t, doer(tr.RoundTrip).send(newCall(t.Context(), http.MethodPost, p.url, replayable)), true)
		by := tr.Stats().Total.ClosedBy
		if by[pool.ReasonCancelled] != 0 || by[pool.ReasonTimeout] != 0 || tr.Stats().Total.Closed != 1 {
			t.Errorf("a silent close counts as %v", by)
		}
		ctx, cancel := context.WithCancel(t.Context())
		silent := r.peer(func(c *peerConn) { c.whole(); cancel(); c.drain() })
		if err := doer(tr.RoundTrip).send(newCall(ctx, http.MethodPost, silent.url, replayable)); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if n := tr.Stats().Total.ClosedBy[pool.ReasonCancelled]; n != 1 {
			t.Errorf("a cancelled request counts as %v", tr.Stats().Total.ClosedBy)
		}
	})
}
