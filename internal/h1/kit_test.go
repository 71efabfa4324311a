package h1

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/connwise/internal/fakenet"
	"example.com/connwise/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A rig is a Conn and the peer's end of it.
type rig struct {
	t    *testing.T
	c    *Conn
	nc   *fakenet.Conn // under c
	peer *fakenet.Conn
	br   *bufio.Reader // of peer
}

func newRig(t *testing.T, opt Options) *rig {
	t.Helper()
	nc, peer := fakenet.Pipe()
	r := &rig{t: t, c: NewConn(nc, &opt), nc: nc, peer: peer, br: bufio.NewReader(peer)}
	t.Cleanup(func() {
		r.c.Close()
		peer.Close()
	})
	return r
}

// An attempt is an exchange that runs in a goroutine.
type attempt struct {
	t    *testing.T
	nc   *fakenet.Conn // nil over another connection
	x    Exchange
	ret  chan struct{} // closed when Start has returned
	resp *http.Response
	err  error
	ends chan wire.End
	told atomic.Int32
}

func (a *attempt) ExchangeDone(reusable bool, why wire.End) {
	if reusable != (why == wire.EndKept) {
		a.t.Errorf("ExchangeDone(%v, %v)", reusable, why)
	}
	if a.nc != nil && !reusable {
		select {
		case <-a.nc.Closed():
		default:
			a.t.Errorf("told of %v before the connection was closed", why)
		}
	}
	if a.told.Add(1) > 1 {
		a.t.Errorf("ExchangeDone called again, with %v", why)
	}
	a.ends <- why
}

// start begins an exchange.
func (r *rig) start(req wire.Request) *attempt {
	a := &attempt{t: r.t, nc: r.nc, ret: make(chan struct{}), ends: make(chan wire.End, 8)}
	go func() {
		defer close(a.ret)
		a.resp, a.err = a.x.Start(r.c, req, a)
	}()
	return a
}

// answer waits for Start and wants an answer with that status.
func (a *attempt) answer(status int) *http.Response {
	a.t.Helper()
	<-a.ret
	if a.err != nil {
		a.t.Fatalf("Start: %v", a.err)
	}
	if a.resp.StatusCode != status {
		a.t.Fatalf("status %d, want %d", a.resp.StatusCode, status)
	}
	return a.resp
}

// fails waits for Start and wants an error. The owner must not be told.
func (a *attempt) fails() error {
	a.t.Helper()
	<-a.ret
	if a.err == nil {
		a.t.Fatalf("Start succeeded with %v", a.resp.Status)
	}
	if a.told.Load() != 0 {
		a.t.Errorf("the owner was told of a failed Start: %v", <-a.ends)
	}
	return a.err
}

// failsWith is fails with a target for errors.Is.
func (a *attempt) failsWith(target error) {
	a.t.Helper()
	if err := a.fails(); !errors.Is(err, target) {
		a.t.Fatalf("Start: %v, want %v", err, target)
	}
}

// reads wants the rest of the body.
func (a *attempt) reads(want string) {
	a.t.Helper()
	b, err := io.ReadAll(a.resp.Body)
	if string(b) != want || err != nil {
		a.t.Fatalf("body %.100q, %v; want %.100q", b, err, want)
	}
}

// wantEnd waits for the owner to be told.
func (a *attempt) wantEnd(want wire.End) {
	a.t.Helper()
	if why := <-a.ends; why != want {
		a.t.Fatalf("ended %v, want %v", why, want)
	}
}

// open wants that the owner hasn't been told.
func (a *attempt) open() {
	a.t.Helper()
	if a.told.Load() != 0 {
		a.t.Fatalf("ended %v, want it to go on", <-a.ends)
	}
}

func (a *attempt) wantFacts(want wire.Facts) {
	a.t.Helper()
	if f := a.x.Facts(); f != want {
		a.t.Errorf("facts\n got %+v\nwant %+v", f, want)
	}
}

// hears wants the peer to receive exactly s next.
func (r *rig) hears(s string) {
	r.t.Helper()
	p := make([]byte, len(s))
	n, err := io.ReadFull(r.br, p)
	if string(p[:n]) != s {
		r.t.Fatalf("peer received %q, %v; want %q", p[:n], err, s)
	}
}

// hearsHead reads a request's head and returns it.
func (r *rig) hearsHead() string {
	r.t.Helper()
	var b strings.Builder
	for {
		line, err := r.br.ReadString('\n')
		b.WriteString(line)
		if err != nil {
			r.t.Fatalf("peer received %q, %v; want a head", b.String(), err)
		}
		if line == "\r\n" {
			return b.String()
		}
	}
}

// hearsEnd wants nothing more from the client but its close.
func (r *rig) hearsEnd() {
	r.t.Helper()
	b, err := io.ReadAll(r.br)
	if len(b) > 0 {
		r.t.Fatalf("peer received %q, %v; want the end", b, err)
	}
}

// says sends s to the client.
func (r *rig) says(s string) {
	r.t.Helper()
	if _, err := io.WriteString(r.peer, s); err != nil {
		r.t.Fatalf("peer's write: %v", err)
	}
}

// wantClosed wants the client's end of the connection to be closed, and stay so.
func (r *rig) wantClosed() {
	r.t.Helper()
	select {
	case <-r.nc.Closed():
	default:
		r.t.Fatal("the connection is open, want it closed")
	}
}

func (r *rig) wantOpen() {
	r.t.Helper()
	select {
	case <-r.nc.Closed():
		r.t.Fatal("the connection is closed, want it open")
	default:
	}
}

// serves makes one whole exchange to see that the connection is in good order.
func (r *rig) serves() {
	r.t.Helper()
	a := r.start(get(r.t))
	r.hearsHead()
	r.says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain")
	a.answer(200)
	a.reads("again")
	a.wantEnd(wire.EndKept)
	if a.resp.Body.Close() != nil {
		r.t.Error("Close failed")
	}
}

// elapsed checks how long something took in a bubble.
func elapsed(t *testing.T, since time.Time, want time.Duration) {
	t.Helper()
	if d := time.Since(since); d != want {
		t.Errorf("took %v, want %v", d, want)
	}
}

func chunkOf(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

const (
	postHead = "POST /p HTTP/1.1\r\nHost: example.com\r\nUser-Agent: Go-http-client/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
	getHead  = "GET /p HTTP/1.1\r\nHost: example.com\r\nUser-Agent: Go-http-client/1.1\r\n\r\n"
	ok5      = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
	ok0      = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
)
