package scenario

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A reset may come at four points of an upload. People who have to tell them apart by the
// words of an error can't; these tests use fields only.

const mib = 1 << 20

var mibBody = strings.Repeat("0123456789abcdef", mib/16)

// stands are where an upload is made: on a fresh connection, or on one that has carried a
// request.
var stands = []struct {
	name   string
	reused bool
}{{"fresh", false}, {"reused", true}}

// eachUpload runs test for PUT and POST on fresh and reused connections, plain and TLS.
func eachUpload(t *testing.T, test func(t *testing.T, r *rig, method string, reused bool)) {
	t.Helper()
	for _, m := range []mode{plain, overT} {
		for _, s := range stands {
			for _, method := range []string{http.MethodPut, http.MethodPost} {
				t.Run(m.name+"/"+s.name+"/"+method, func(t *testing.T) { test(t, newRig(t, m), method, s.reused) })
			}
		}
	}
}

// A cable is a transport whose sockets the test can see.
type cable struct {
	*pool.Transport
	sockets
	later script // for resetBefore's further connections; nil: they are served
}

// prelude says whether c is to be played out: the fresh connection, or behind one request.
func prelude(c *peerConn, reused bool) bool {
	if c.num > 0 {
		c.serveWhole()
		return false
	}
	if !reused {
		return true
	}
	q, err := c.whole()
	return err == nil && c.answer(q) == nil
}

// warm makes the request that a reused connection carried before.
func warm(t *testing.T, do doer, url string, reused bool) {
	t.Helper()
	if reused {
		do.must(t, newCall(t.Context(), http.MethodGet, url, noBody))
	}
}

// resetBefore makes the peer's first connection be reset in the last moment before the
// first byte of the nth request: after the pool's look.
func (w *cable) resetBefore(r *rig, nth int64) *rawPeer {
	p := r.peer(func(c *peerConn) {
		if c.num > 0 && w.later != nil {
			w.later(c)
		} else if prelude(c, nth > 1) {
			<-c.peer.gate
			leaveRST.by(c)
		}
	})
	var calls atomic.Int64
	cfg := pool.Config{BeforeSend: func(*http.Request) error {
		if calls.Add(1) == nth {
			p.gate <- struct{}{}
			ended(w.number(0))
		}
		return nil
	}}
	w.watch(&cfg)
	w.Transport = r.pool(cfg)
	return p
}

func TestAResetBeforeTheFirstByteOfAFreshConnectionIsReportedAsUnsent(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, k := range cargoes {
			for _, method := range []string{http.MethodPut, http.MethodPost} {
				var w cable
				p := w.resetBefore(r, 1)
				c := newUpload(t, t.Context(), method, p.url, k, mibBody)
				err := doer(w.RoundTrip).send(c)
				e := poolError(t, err)
				if e.Phase != pool.PhaseUnsent || !e.Phase.Unprocessed() || e.Sent != 0 || e.Reused || p.received() != 0 {
					t.Errorf("%s: phase %v, %d bytes sent, reused %v, %d requests received", k.name, e.Phase, e.Sent, e.Reused, p.received())
				}
				// The kernel tells of a reset once, here to the hook that waited for it, and of an
				// EOF from then on.
				if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
					t.Errorf("%s: the system's word isn't in the chain: %v", k.name, err)
				}
				if c.body != nil && (c.body.reads.Load() != 0 || e.BodyTouched) {
					t.Errorf("%s: a body that was not to be sent was read %d times; the error says touched: %v", k.name, c.body.reads.Load(), e.BodyTouched)
				}
				if err := c.body.misuse(); err != nil {
					t.Errorf("%s: %v", k.name, err)
				}
			}
		}
	})
}

// It proves that nothing was processed, so every body that can be had is sent again.
func TestAResetBeforeTheFirstByteIsRetriedWithEveryMethod(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, method := range methods {
			var w cable
			p := w.resetBefore(r, 1)
			c, rep := reported(newCall(t.Context(), method, p.url, noBody))
			if err := sendAny(over(w.Transport, quick(retry.Default())), c); err != nil || p.count(c.id) != 1 || rep.Retries != 1 {
				t.Errorf("%s: %v; executed %d times with %d retries", method, err, p.count(c.id), rep.Retries)
			}
		}
	})
}

// On a connection that was reused it costs the caller nothing, not even a try.
func TestAResetBeforeTheFirstByteOfAReusedConnectionIsReplacedUnseen(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, k := range cargoes {
			for _, f := range fronts {
				var w cable
				p := w.resetBefore(r, 2)
				do := f.over(w.Transport)
				warm(t, do, p.url, true)
				c := newUpload(t, t.Context(), http.MethodPost, p.url, k, mibBody)
				if err := do.send(c); err != nil || p.count(c.id) != 1 || w.Stats().Total.Replaced != 1 {
					t.Errorf("%s by %s: %v; executed %d times, %d replaced", k.name, f.name, err, p.count(c.id), w.Stats().Total.Replaced)
				}
			}
		}
	})
}

// halfway is a request whose body stands at its half until the peer's reset has arrived.
func (w *cable) halfway(t *testing.T, method, url string) *call {
	c := newCall(t.Context(), method, url, noBody)
	reload(c.Request, mib, func() io.ReadCloser {
		return io.NopCloser(io.MultiReader(strings.NewReader(mibBody[:mib/2]), &afterReset{w: w}, strings.NewReader(mibBody[mib/2:])))
	})
	return c
}

// An afterReset is an empty reader that ends when the first socket has seen its reset.
type afterReset struct{ w *cable }

func (a *afterReset) Read([]byte) (int, error) {
	if !ended(a.w.number(0)) {
		return 0, errors.New("no reset came")
	}
	return 0, io.EOF
}

func TestAResetInTheMiddleOfTheBodySaysHowMuchWasSent(t *testing.T) {
	eachUpload(t, func(t *testing.T, r *rig, method string, reused bool) {
		var w cable
		var got atomic.Int64
		p := r.peer(func(c *peerConn) {
			if !prelude(c, reused) {
				return
			}
			counted := &countingReader{r: c.br}
			c.br = bufio.NewReader(counted)
			req, err := http.ReadRequest(c.br)
			if err == nil {
				_, err = io.CopyN(io.Discard, req.Body, mib/2)
			}
			if err == nil {
				got.Store(counted.n)
				leaveRST.by(c)
			}
		})
		var cfg pool.Config
		w.watch(&cfg)
		w.Transport = r.pool(cfg)
		warm(t, w.RoundTrip, p.url, reused)
		c := w.halfway(t, method, p.url)
		e := wantAmbiguous(t, doer(w.RoundTrip).send(c), reused)
		if e.Phase != pool.PhaseSending || e.Sent != got.Load() {
			t.Errorf("phase %v with %d bytes sent; the peer received %d", e.Phase, e.Sent, got.Load())
		}
		if e.BodyTouched {
			t.Error("a body that can be had again counts as used up")
		}
	})
}

func TestAResetAfterTheWholeBodySaysThatAllWasSent(t *testing.T) {
	eachUpload(t, func(t *testing.T, r *rig, method string, reused bool) {
		wrote := make(chan struct{})
		p := r.peer(func(c *peerConn) {
			if !prelude(c, reused) {
				return
			}
			if _, err := c.whole(); err == nil {
				<-wrote
				leaveRST.by(c)
			}
		})
		tr := r.pool(pool.Config{})
		warm(t, tr.RoundTrip, p.url, reused)
		c := newUpload(t, t.Context(), method, p.url, cargoBytes, mibBody)
		c.Request = c.WithContext(httptrace.WithClientTrace(c.Context(), &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) { close(wrote) },
		}))
		e := wantAmbiguous(t, doer(tr.RoundTrip).send(c), reused)
		if e.Phase != pool.PhaseSending && e.Phase != pool.PhaseSent || e.Sent <= mib {
			t.Errorf("phase %v with %d bytes sent", e.Phase, e.Sent)
		}
		if p.count(c.id) != 1 {
			t.Errorf("executed %d times", p.count(c.id))
		}
	})
}

func TestAResetInTheAnswersHeadIsAFailureOfTheAnswer(t *testing.T) {
	eachUpload(t, func(t *testing.T, r *rig, method string, reused bool) {
		seen := make(chan struct{})
		p := r.peer(func(c *peerConn) {
			if !prelude(c, reused) {
				return
			}
			if _, err := c.whole(); err == nil {
				c.say("HTTP/1.1 200 OK\r\nX-Half: ")
				<-seen
				leaveRST.by(c)
			}
		})
		tr := r.pool(pool.Config{})
		warm(t, tr.RoundTrip, p.url, reused)
		c := newUpload(t, t.Context(), method, p.url, cargoBytes, mibBody)
		c.Request = c.WithContext(httptrace.WithClientTrace(c.Context(), &httptrace.ClientTrace{
			GotFirstResponseByte: func() { close(seen) },
		}))
		err := doer(tr.RoundTrip).send(c)
		e := poolError(t, err)
		if e.Phase != pool.PhaseResponse || e.Reused != reused || p.count(c.id) != 1 {
			t.Errorf("phase %v, reused %v, executed %d times", e.Phase, e.Reused, p.count(c.id))
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the reset isn't in the chain: %v", err)
		}
	})
}

// Neither PUT nor POST is sent again after any of the ambiguous resets, until a policy or
// the caller says so; then both are, whole.
func TestOnlyAPolicyOrTheCallerMakesAnUploadRepeatable(t *testing.T) {
	puts := quick(retry.Policy{Repeatable: []string{http.MethodPut}})
	eachMode(t, func(t *testing.T, r *rig) {
		for _, tt := range []struct {
			name   string
			policy retry.Policy
			method string
			key    bool
			want   bool
		}{
			{"PUT by default", quick(retry.Default()), http.MethodPut, false, false},
			{"POST by default", quick(retry.Default()), http.MethodPost, false, false},
			{"PUT by policy", puts, http.MethodPut, false, true},
			{"POST by a policy for PUT", puts, http.MethodPost, false, false},
			{"POST by key", quick(retry.Default()), http.MethodPost, true, true},
			{"POST by key where keys mean nothing", quick(retry.NeverTimeouts()), http.MethodPost, true, false},
		} {
			var w cable
			p := r.peer(func(c *peerConn) {
				if c.num > 0 {
					c.serveWhole()
					return
				}
				if req, err := http.ReadRequest(c.br); err == nil {
					io.CopyN(io.Discard, req.Body, mib/2)
					leaveRST.by(c)
				}
			})
			var cfg pool.Config
			w.watch(&cfg)
			w.Transport = r.pool(cfg)
			c, rep := reported(w.halfway(t, tt.method, p.url))
			if tt.key {
				c.Header.Set("Idempotency-Key", c.id)
			}
			err := over(w.Transport, tt.policy).send(c)
			if (err == nil) != tt.want || (p.count(c.id) == 1) != tt.want || (rep.Retries == 1) != tt.want {
				t.Errorf("%s: %v; executed %d times with %d retries", tt.name, err, p.count(c.id), rep.Retries)
			}
		}
	})
}

// The look before each use finds a reset that has come, so that a write never meets it.
func TestAResetThatHasArrivedCostsNoAttempt(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		var w cable
		p := r.peer(func(c *peerConn) {
			if prelude(c, true) {
				leaveRST.by(c)
			}
		})
		var cfg pool.Config
		w.watch(&cfg)
		w.Transport = r.pool(cfg)
		for n, k := range cargoes {
			if n == 0 {
				warm(t, w.RoundTrip, p.url, true)
				if !ended(w.number(0)) {
					t.Fatal("no reset came")
				}
			}
			c := newUpload(t, t.Context(), http.MethodPost, p.url, k, mibBody)
			doer(w.RoundTrip).must(t, c)
			if p.count(c.id) != 1 {
				t.Errorf("%s: executed %d times", k.name, p.count(c.id))
			}
		}
		if s := w.Stats().Total; s.Failed != 0 || p.conns() != 2 {
			t.Errorf("%d failures, %d connections, want 0 and 2", s.Failed, p.conns())
		}
	})
}

// A countingReader counts what was read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
