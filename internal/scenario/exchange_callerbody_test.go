package scenario

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"example.com/connwise/pool"
)

// A body that fails, or that isn't as long as was said, is the caller's own fault: the
// error says so, nothing is sent again, and the peer doesn't take what it got for a request.

var errOwn = errors.New("the disk is gone")

// A failing is a body that ends in failure after a text.
type failing struct {
	r      io.Reader
	fail   func() error
	closed int
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = f.fail()
	}
	return n, err
}

func (f *failing) Close() error { f.closed++; return nil }

var failures = []struct {
	name string
	text string
	fail func() error
	own  bool // errOwn is in the chain
}{
	{"at once", "", func() error { return errOwn }, true},
	{"after 10 bytes", "0123456789", func() error { return errOwn }, true},
	{"after a large part", mibBody[:mib/2], func() error { return errOwn }, true},
	{"with a panic over an error", "0123456789", func() error { panic(errOwn) }, true},
	{"with a panic over a text", "0123456789", func() error { panic("no disk") }, false},
	{"by ending its goroutine", "0123456789", func() error { runtime.Goexit(); return nil }, false},
	{"with an io.ErrUnexpectedEOF of its own", "0123456789", func() error { return io.ErrUnexpectedEOF }, false},
}

func TestABodyThatFailsIsTheCallersFault(t *testing.T) {
	eachFront(t, func(t *testing.T, r *rig, f front) {
		for _, fail := range failures {
			for _, length := range []int64{-1, mib} {
				body := func() *failing { return &failing{r: strings.NewReader(fail.text), fail: fail.fail} }
				callersFault(t, r, f, fail.name, http.MethodPost, length, true, body, fail.own)
				callersFault(t, r, f, fail.name, http.MethodGet, length, false, body, fail.own)
			}
		}
	})
}

// callersFault sends a request with a body that fails and checks what becomes of it. It
// could be sent again as far as the policy and the body's rewinding are concerned.
func callersFault(t *testing.T, r *rig, f front, name, method string, length int64, reused bool, body func() *failing, own bool) {
	t.Helper()
	p := r.peer((*peerConn).serveWhole)
	tr := r.pool(pool.Config{})
	do := f.over(tr)
	warm(t, do, p.url, reused)
	c, rep := reported(newCall(t.Context(), method, p.url, noBody))
	first := body()
	c.Body, c.ContentLength = first, length
	c.GetBody = func() (io.ReadCloser, error) { return body(), nil }
	c.Header.Set("Idempotency-Key", c.id)
	err := do.send(c)
	if err == nil {
		t.Errorf("%s, length %d: no error", name, length)
		return
	}
	if ce, ok := errors.AsType[*pool.CallerError](err); !ok || ce.Source != pool.CallerBody {
		t.Errorf("%s, length %d: it doesn't count as the caller's: %v", name, length, err)
	}
	if own && !errors.Is(err, errOwn) {
		t.Errorf("%s, length %d: the body's error isn't in the chain: %v", name, length, err)
	}
	e := poolError(t, err)
	if e.Timeout() || e.BodyTouched {
		t.Errorf("%s, length %d: timeout %v, touched %v, for a body that can be had again", name, length, e.Timeout(), e.BodyTouched)
	}
	if p.count(c.id) != 0 || p.conns() > 1 || rep.Retries != 0 {
		t.Errorf("%s, length %d: executed %d times, %d connections, %d retries; want 0, 1, 0", name, length, p.count(c.id), p.conns(), rep.Retries)
	}
	if first.closed != 1 {
		t.Errorf("%s, length %d: the body was closed %d times", name, length, first.closed)
	}
	if g := gauges(tr); e.Sent > 0 && g != (counts{}) {
		t.Errorf("%s, length %d: a connection with a part of a request on it is kept: %+v", name, length, g)
	}
	do.must(t, newCall(t.Context(), http.MethodPost, p.url, oneShot))
}

// smuggled is what a body would have to contain to be taken for a request by a peer that
// counts bytes.
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\nX-Request-Id: smuggled\r\n\r\n"

var wrongLengths = []struct {
	name   string
	length int64
	text   string
}{
	{"shorter", 100, "12345"},
	{"empty", 100, ""},
	{"longer", 5, "12345" + smuggled},
	{"much longer", 5, "12345" + smuggled + mibBody},
	{"longer by one", 5, "123456"},
	{"shorter by one, large", mib + 1, mibBody},
	{"longer by one, large", mib - 1, mibBody},
}

func TestABodyOfAnotherLengthThanAnnouncedIsNotTakenForARequest(t *testing.T) {
	readers := []struct {
		name string
		of   func(string) io.ReadCloser
	}{
		{"in memory", func(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }},
		{"stream", func(s string) io.ReadCloser { return &onceBody{r: strings.NewReader(s)} }},
		{"stream in pieces", func(s string) io.ReadCloser { return &onceBody{r: &inPieces{s, max(5, len(s)/64)}} }},
	}
	eachMode(t, func(t *testing.T, r *rig) {
		for _, wrong := range wrongLengths {
			for _, reader := range readers {
				for _, f := range []front{bare, retrying} {
					name := wrong.name + ", " + reader.name + ", " + f.name
					p := r.peer((*peerConn).serveWhole)
					tr := r.pool(pool.Config{})
					do := f.over(tr)
					warm(t, do, p.url, true)
					c := newCall(t.Context(), http.MethodPost, p.url, noBody)
					c.Body, c.ContentLength = reader.of(wrong.text), wrong.length
					c.Header.Set("Idempotency-Key", c.id)
					wantWrongLength(t, name, do, p, c, int64(len(wrong.text)) < wrong.length)
					if p.count("smuggled") != 0 {
						t.Errorf("%s: the peer took a body for a request", name)
					}
					do.must(t, newCall(t.Context(), http.MethodPost, p.url, oneShot))
				}
			}
		}
	})
}

// wantWrongLength sends c. A body that turns out longer when its announced length has
// gone out makes a whole request: that may have run, and may have been answered.
func wantWrongLength(t *testing.T, name string, do doer, p *rawPeer, c *call, short bool) {
	t.Helper()
	err := do.send(c)
	if ce, ok := errors.AsType[*pool.CallerError](err); err != nil && (!ok || ce.Source != pool.CallerBody) {
		t.Errorf("%s: it doesn't count as the caller's: %v", name, err)
	}
	switch n := p.count(c.id); {
	case short && (err == nil || n != 0):
		t.Errorf("%s: %v; executed %d times", name, err, n)
	case n > 1:
		t.Errorf("%s: executed %d times", name, n)
	case err == nil && n != 1:
		t.Errorf("%s: succeeded, and was executed %d times", name, n)
	}
}

// An inPieces gives a few bytes at a time.
type inPieces struct {
	s string
	n int
}

func (r *inPieces) Read(p []byte) (int, error) {
	if r.s == "" {
		return 0, io.EOF
	}
	n := copy(p, r.s[:min(r.n, len(r.s))])
	r.s = r.s[n:]
	return n, nil
}

// A hook's veto is the caller's fault as well, and leaves the connection as it was.
func TestAVetoedRequestIsNotSentAndKeepsItsConnection(t *testing.T) {
	errVeto := errors.New("the token has expired")
	eachFront(t, func(t *testing.T, r *rig, f front) {
		var veto bool
		p := r.peer((*peerConn).serveWhole)
		tr := r.pool(pool.Config{BeforeSend: func(*http.Request) error {
			if veto {
				return errVeto
			}
			return nil
		}})
		do := f.over(tr)
		warm(t, do, p.url, true)
		for _, k := range cargoes {
			veto = true
			c := newUpload(t, t.Context(), http.MethodPost, p.url, k, "charge 10")
			err := do.send(c)
			e := poolError(t, err)
			ce, ok := errors.AsType[*pool.CallerError](err)
			if !errors.Is(err, errVeto) || !ok || ce.Source != pool.CallerHook || e.Phase != pool.PhaseUnsent || e.Sent != 0 {
				t.Errorf("%s: %v, phase %v, %d bytes sent", k.name, err, e.Phase, e.Sent)
			}
			if err := c.body.misuse(); err != nil {
				t.Errorf("%s: %v", k.name, err)
			}
			veto = false
			do.must(t, newCall(t.Context(), http.MethodPost, p.url, oneShot))
			if p.conns() != 1 || p.count(c.id) != 0 {
				t.Errorf("%s: %d connections, executed %d times", k.name, p.conns(), p.count(c.id))
			}
		}
	})
}
