package h1

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/internal/wire"
)

// socketRig is a Conn over a real connection, and the peer's end.
func socketRig(t *testing.T, opt Options) (*Conn, *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	nc.(*net.TCPConn).SetWriteBuffer(64 << 10) // 1 MiB must not fit into the buffers
	peer.(*net.TCPConn).SetReadBuffer(64 << 10)
	c := NewConn(nc, &opt)
	t.Cleanup(func() { c.Close(); peer.Close() })
	return c, peer.(*net.TCPConn)
}

func startOn(t *testing.T, c *Conn, req wire.Request) *attempt {
	r := rig{t: t, c: c}
	return r.start(req)
}

// take reads n bytes from the peer's side of a connection.
func take(t *testing.T, c net.Conn, n int) {
	t.Helper()
	if _, err := io.ReadFull(c, make([]byte, n)); err != nil {
		t.Fatalf("peer's read: %v", err)
	}
}

const mib = 1 << 20

// largePosts are the ways in which 1 MiB is sent.
func largePosts(t *testing.T) map[string]wire.Request {
	data := bytes.Repeat([]byte("x"), mib)
	return map[string]wire.Request{
		"chunked":   post(t, bytes.NewReader(data)),
		"sized":     sizedPost(t, mib, bytes.NewReader(data)),
		"in memory": {Request: request(t, "POST", bytes.NewReader(data)), Small: data},
	}
}

// TestEarlyAnswerAndClose: the peer refuses an upload after its first bytes, and closes
// with the rest unread, which makes the kernel send an RST right behind the answer.
func TestEarlyAnswerAndClose(t *testing.T) {
	const answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 7\r\nConnection: close\r\n\r\ntoo big"
	for name, req := range largePosts(t) {
		t.Run(name, func(t *testing.T) {
			c, peer := socketRig(t, Options{})
			a := startOn(t, c, req)
			take(t, peer, 1000)
			io.WriteString(peer, answer)
			peer.CloseWrite()
			a.answer(413)
			a.reads("too big")
			peer.Close()
			a.wantEnd(wire.EndNotKept)
			a.resp.Body.Close()
			if f := a.x.Facts(); f.AllSent || f.Sent >= mib || f.Sent < 1000 {
				t.Errorf("facts %+v", f)
			}
		})
	}
}

// TestEarlyAnswerAndReset: the RST is there before the client looks for an answer. On
// Linux what has arrived can still be read.
func TestEarlyAnswerAndReset(t *testing.T) {
	const answer = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno"
	for name, req := range largePosts(t) {
		t.Run(name, func(t *testing.T) {
			c, peer := socketRig(t, Options{})
			slow := &lateReader{Conn: c.nc, may: make(chan struct{})}
			c.nc = slow
			a := startOn(t, c, req)
			take(t, peer, 1000)
			io.WriteString(peer, answer)
			peer.SetLinger(0)
			peer.Close()
			close(slow.may)
			a.answer(401)
			b, err := io.ReadAll(a.resp.Body)
			if string(b) != "no" || err != nil {
				t.Errorf("body %q, %v", b, err)
			}
			if why := <-a.ends; why == wire.EndKept {
				t.Error("the connection was kept")
			}
			a.resp.Body.Close()
		})
	}
}

// lateReader reads only when it may.
type lateReader struct {
	net.Conn
	may chan struct{}
}

func (l *lateReader) Read(p []byte) (int, error) {
	<-l.may
	return l.Conn.Read(p)
}

// TestResetDuringAnUpload: there is no answer, and the facts tell how far it got.
func TestResetDuringAnUpload(t *testing.T) {
	for name, req := range largePosts(t) {
		t.Run(name, func(t *testing.T) {
			c, peer := socketRig(t, Options{})
			a := startOn(t, c, req)
			take(t, peer, 1000)
			peer.SetLinger(0)
			peer.Close()
			err := a.fails()
			if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
				t.Errorf("err = %v", err)
			}
			if f := a.x.Facts(); f.AllSent || f.Answered || f.Sent < 1000 {
				t.Errorf("facts %+v", f)
			}
		})
	}
}

// TestWriteOnAResetConnection: the RST came before the first byte.
func TestWriteOnAResetConnection(t *testing.T) {
	c, peer := socketRig(t, Options{})
	peer.SetLinger(0)
	peer.Close()
	if _, err := c.nc.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) { // it has arrived
		t.Fatalf("Read: %v", err)
	}
	b := newBody(t, "abc")
	a := startOn(t, c, post(t, b))
	a.failsWith(syscall.EPIPE)
	a.wantFacts(wire.Facts{})
	b.wantClosed()
	if b.reads > 0 {
		t.Error("the body was read")
	}
}

// TestEarlyAnswerWhileTheBodyWaits: a peer that answers and keeps the connection, while
// the caller's body has nothing to give.
func TestEarlyAnswerWhileTheBodyWaits(t *testing.T) {
	c, peer := socketRig(t, Options{})
	pr, pw := io.Pipe()
	defer pw.Close()
	a := startOn(t, c, post(t, pr))
	take(t, peer, len(postHead))
	io.WriteString(peer, ok0)
	a.answer(200)
	if a.resp.Body != io.ReadCloser(&a.x) {
		t.Fatalf("Body is %T: nothing could stop the upload", a.resp.Body)
	}
	a.reads("")
	a.open()
	a.resp.Body.Close()
	a.wantEnd(wire.EndUpload)
	if _, err := pw.Write([]byte("x")); err != io.ErrClosedPipe {
		t.Errorf("the pipe is open after Close: %v", err)
	}
}

// TestAgainstNetHTTPServer makes exchanges with net/http's server.
func TestAgainstNetHTTPServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Write(bytes.ToUpper(b))
		w.Header().Set("X-Sum", r.Trailer.Get("X-In"))
	})}
	go srv.Serve(ln)
	defer srv.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := NewConn(nc, &Options{ContinueTimeout: time.Hour})
	defer c.Close()
	text := strings.Repeat("hello, world ", 50_000)
	for _, expect := range []bool{false, true} {
		for name, req := range map[string]wire.Request{
			"chunked":   post(t, strings.NewReader(text)),
			"sized":     sizedPost(t, int64(len(text)), strings.NewReader(text)),
			"in memory": {Request: request(t, "POST", strings.NewReader(text)), Small: []byte(text)},
		} {
			if expect {
				req.Header.Set("Expect", "100-continue")
			}
			if name == "chunked" {
				req.Trailer = http.Header{"X-In": {"17"}}
			}
			a := startOn(t, c, req)
			a.answer(200)
			a.reads(strings.ToUpper(text))
			a.wantEnd(wire.EndKept)
			if name == "chunked" && a.resp.Trailer.Get("X-Sum") != "17" {
				t.Errorf("trailers %v", a.resp.Trailer)
			}
			a.resp.Body.Close()
		}
	}
}
