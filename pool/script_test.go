package pool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/fakenet"
)

// A script drives a Transport over connections in memory, in a synctest bubble: it
// starts requests, lets dials finish or fail, plays the peers, and says what it wants to
// see. Each want waits until everything in the bubble has come to rest.
type script struct {
	*testing.T
	tr    *Transport
	dials chan *scriptDial
	told  told // of a Config without a Trace; its books are compared at the end
}

// inBubble runs f with a Transport of cfg, whose dials the script finishes. At the end
// all gauges have to be zero and all that was opened closed.
func inBubble(t *testing.T, cfg Config, f func(*script)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &script{T: t, dials: make(chan *scriptDial, 1000)}
		if cfg.Base == nil {
			cfg.Base = &http.Transport{}
		}
		cfg.Base.DialContext = s.dial
		traced := cfg.Trace == nil
		if traced {
			cfg.Trace = s.told.trace()
		}
		var err error
		if s.tr, err = New(cfg); err != nil {
			t.Fatal(err)
		}
		defer s.tr.Close() // also when f ends the test
		f(s)
		s.tr.Close()
		synctest.Wait()
		s.wantAtRest()
		if st := s.tr.Stats(); traced {
			s.told.wantBooks(t, &st.Total)
		}
	})
}

// A scriptDial is a dial under way.
type scriptDial struct {
	s    *script
	ctx  context.Context
	done chan error
	peer *peerConn
	conn net.Conn
}

func (s *script) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	d := &scriptDial{s: s, ctx: ctx, done: make(chan error, 1)}
	client, server := fakenet.Pipe()
	d.conn, d.peer = client, &peerConn{s: s, client: client, Conn: server, br: bufio.NewReader(server)}
	s.dials <- d
	select {
	case err := <-d.done:
		if err != nil {
			return nil, err
		}
		return d.conn, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *script) wantDial() *scriptDial {
	s.Helper()
	synctest.Wait()
	select {
	case d := <-s.dials:
		return d
	default:
		s.Fatal("no dial is under way")
		return nil
	}
}

func (s *script) wantNoDial() {
	s.Helper()
	synctest.Wait()
	select {
	case <-s.dials:
		s.Fatal("a dial that should not be")
	default:
	}
}

func (d *scriptDial) finish() *peerConn {
	d.done <- nil
	synctest.Wait()
	return d.peer
}

func (d *scriptDial) fail(err error) {
	d.done <- err
	synctest.Wait()
}

// A trip is a RoundTrip under way.
type trip struct {
	s      *script
	cancel context.CancelFunc
	done   chan struct{}
	resp   *http.Response
	err    error
}

// start sends req in a goroutine of its own. Its context ends with cancel.
func (s *script) start(req *http.Request) *trip {
	ctx, cancel := context.WithCancel(req.Context())
	tp := &trip{s: s, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(tp.done)
		tp.resp, tp.err = s.tr.RoundTrip(req.WithContext(ctx))
	}()
	synctest.Wait() // so that requests come in the order in which they were started
	return tp
}

func (s *script) get() *trip {
	return s.start(s.request("GET", nil))
}

func (s *script) request(method string, body io.Reader) *http.Request {
	req, err := http.NewRequest(method, "http://host.test/", body)
	if err != nil {
		s.Fatal(err)
	}
	return req
}

func (tp *trip) wantPending() {
	tp.s.Helper()
	synctest.Wait()
	select {
	case <-tp.done:
		tp.s.Fatalf("the request is over: %v, %v", tp.resp, tp.err)
	default:
	}
}

// wantBody reads the answer to its end, which gives the connection back.
func (tp *trip) wantBody(want string) {
	tp.s.Helper()
	tp.wantHead()
	b, err := io.ReadAll(tp.resp.Body)
	if err != nil || string(b) != want {
		tp.s.Fatalf("body %q, error %v, want %q", b, err, want)
	}
	tp.resp.Body.Close()
}

func (tp *trip) wantHead() {
	tp.s.Helper()
	synctest.Wait()
	select {
	case <-tp.done:
	default:
		tp.s.Fatal("no answer yet")
	}
	if tp.err != nil {
		tp.s.Fatal(tp.err)
	}
}

func (tp *trip) wantError(phase Phase, cause error) *Error {
	tp.s.Helper()
	synctest.Wait()
	select {
	case <-tp.done:
	default:
		tp.s.Fatalf("still under way, want an error of phase %v", phase)
	}
	e, ok := errors.AsType[*Error](tp.err)
	if !ok || e.Phase != phase || cause != nil && !errors.Is(tp.err, cause) {
		tp.s.Fatalf("error %#v (%v), want phase %v and %v", tp.err, tp.err, phase, cause)
	}
	return e
}

// A peerConn is the server's end of a connection.
type peerConn struct {
	s      *script
	client *fakenet.Conn
	*fakenet.Conn
	br *bufio.Reader
}

// wantRequest reads a request with its body.
func (p *peerConn) wantRequest() (*http.Request, string) {
	p.s.Helper()
	p.SetReadDeadline(time.Now().Add(time.Second))
	req, err := http.ReadRequest(p.br)
	if err != nil {
		p.s.Fatalf("reading the request: %v", err)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		p.s.Fatalf("reading the request's body: %v", err)
	}
	return req, string(body)
}

func (p *peerConn) answer(body string, fields ...string) {
	p.s.Helper()
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n", len(body))
	if len(fields) > 0 {
		head += strings.Join(fields, "\r\n") + "\r\n"
	}
	if _, err := io.WriteString(p, head+"\r\n"+body); err != nil {
		p.s.Fatalf("answering: %v", err)
	}
}

// serve answers one request.
func (p *peerConn) serve(body string, fields ...string) {
	p.s.Helper()
	p.wantRequest()
	p.answer(body, fields...)
}

func (p *peerConn) wantClosed() {
	p.s.Helper()
	synctest.Wait()
	select {
	case <-p.client.Closed():
	default:
		p.s.Fatal("the connection is open")
	}
}

func (p *peerConn) wantOpen() {
	p.s.Helper()
	synctest.Wait()
	select {
	case <-p.client.Closed():
		p.s.Fatal("the connection is closed")
	default:
	}
}

// stats returns the one host's snapshot.
func (s *script) stats() HostStats {
	s.Helper()
	synctest.Wait()
	st := s.tr.Stats()
	if len(st.Hosts) != 1 {
		s.Fatalf("%d hosts, want 1", len(st.Hosts))
	}
	return st.Hosts[0]
}

// wantAtRest checks that nothing was lost: no gauge is up, and what was opened is closed
// with a reason.
func (s *script) wantAtRest() {
	s.Helper()
	st := s.tr.Stats()
	for _, h := range st.Hosts {
		if h.Open != 0 || h.Idle != 0 || h.InUse != 0 || h.Dialing != 0 || h.Waiting != 0 {
			s.Errorf("%s is not at rest: %+v", h.Host, h)
		}
	}
	var sum uint64
	for _, n := range st.Total.ClosedBy {
		sum += n
	}
	if t := st.Total; t.Opened != t.Closed || sum != t.Closed || t.Dials != t.Opened+t.DialsFailed {
		s.Errorf("the books don't balance: %+v", t)
	}
	wantSplit(s.T, &st.Total)
	if n := s.tr.idle.Load(); n != 0 {
		s.Errorf("%d idle connections are counted", n)
	}
	for _, h := range s.tr.allHosts() {
		h.mu.Lock()
		cutting, slow, ahead, taken := h.cutting, h.slow, h.keeper.ahead, h.slots.taken.Load()
		h.mu.Unlock()
		if cutting != 0 || slow != 0 || ahead != 0 || taken != 0 {
			s.Errorf("%s still counts %d dials being cut, %d slow ones, %d ahead, and %d slots taken", h.key.addr, cutting, slow, ahead, taken)
		}
	}
}

// exchange makes one request on a connection of its own and returns the peer, idle now.
func (s *script) exchange() *peerConn {
	s.Helper()
	tp := s.get()
	p := s.wantDial().finish()
	p.serve("ok")
	tp.wantBody("ok")
	return p
}
