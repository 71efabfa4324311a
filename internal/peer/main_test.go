package peer

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// holderEnv makes the test binary the parent of a child, see TestChildDiesWithParent.
const holderEnv = "PEER_TEST_HOLDER"

func TestMain(m *testing.M) {
	if IsChild() {
		os.Exit(ChildMain(os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv(holderEnv) != "" {
		os.Exit(holdChild())
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait of a test for something that has to happen.
const patience = 10 * time.Second

// modes are the ways to speak to a server.
var modes = []struct {
	name string
	tls  bool
}{{"h1", false}, {"h1s", true}}

// run runs f with a server in each mode.
func run(t *testing.T, f Faults, test func(t *testing.T, s *Server, a *Authority)) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var a *Authority
			if m.tls {
				a = newAuthority(t)
			}
			s, err := Start(a, f)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			test(t, s, a)
		})
	}
}

func newAuthority(t *testing.T) *Authority {
	t.Helper()
	a, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A client is one connection to a server, driven by hand.
type client struct {
	t   *testing.T
	raw *tlsWatch
	rw  net.Conn
	br  *bufio.Reader
}

func dial(t *testing.T, addr string, a *Authority) *client {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	raw := &tlsWatch{Conn: nc}
	t.Cleanup(func() { _ = raw.Close() })
	c := &client{t: t, raw: raw, rw: raw, br: bufio.NewReader(raw)}
	if a != nil {
		c.startTLS(a.Roots())
	}
	if err := raw.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *client) startTLS(roots *x509.CertPool) {
	c.rw = tls.Client(c.raw, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})
	c.br = bufio.NewReader(c.rw)
}

// send writes a POST with a body.
func (c *client) send(id int) {
	c.t.Helper()
	if err := c.trySend(id); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) trySend(id int) error {
	_, err := fmt.Fprintf(c.rw, "POST / HTTP/1.1\r\nHost: x\r\nX-Request-Id: %d\r\nContent-Length: 5\r\n\r\nhello", id)
	return err
}

// receive reads an answer to its end and checks that it is the one to id.
func (c *client) receive(id int) *http.Response {
	c.t.Helper()
	resp, err := c.tryReceive()
	if err != nil {
		c.t.Fatalf("answer to %d: %v", id, err)
	}
	if got := resp.Header.Get(HeaderID); resp.StatusCode != 200 || got != fmt.Sprint(id) {
		c.t.Fatalf("answer %d of request %q, want 200 of %d", resp.StatusCode, got, id)
	}
	return resp
}

func (c *client) tryReceive() (*http.Response, error) {
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp, err
}

// do sends a request and receives its answer.
func (c *client) do(id int) *http.Response {
	c.t.Helper()
	c.send(id)
	return c.receive(id)
}

// ends waits for the connection's end and checks how it came.
func (c *client) ends(s Style) {
	c.t.Helper()
	_, err := c.br.ReadByte()
	if s == RST {
		if !errors.Is(err, syscall.ECONNRESET) {
			c.t.Fatalf("connection ended with %v, want a reset", err)
		}
		return
	}
	if !errors.Is(err, io.EOF) {
		c.t.Fatalf("connection ended with %v, want EOF", err)
	}
	if _, ok := c.rw.(*tls.Conn); ok && c.raw.lastIsAlert() != (s == FIN) {
		c.t.Fatalf("close_notify: %v, want %v", c.raw.lastIsAlert(), s == FIN)
	}
}

// A tlsWatch remembers the length of the last TLS record that came in. crypto/tls
// reports the same io.EOF with a close_notify and without.
type tlsWatch struct {
	net.Conn
	header []byte // of the record that is coming in, up to 5 bytes
	length int    // of the last record
	left   int    // bytes of it to come
}

func (w *tlsWatch) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	for b := p[:n]; len(b) > 0; {
		if skip := min(w.left, len(b)); skip > 0 {
			w.left, b = w.left-skip, b[skip:]
			continue
		}
		w.header, b = append(w.header, b[0]), b[1:]
		if len(w.header) == 5 {
			w.length = int(w.header[3])<<8 | int(w.header[4])
			w.left, w.header = w.length, w.header[:0]
		}
	}
	return n, err
}

// lastIsAlert reports whether the last record has the length of a TLS 1.3 alert:
// two bytes, the type and a tag of 16. No answer is that short.
func (w *tlsWatch) lastIsAlert() bool { return w.length == 19 }

// wantExecuted checks how often ids were executed, by id from 1.
func wantExecuted(t *testing.T, r Report, counts ...int) {
	t.Helper()
	for i, want := range counts {
		if got := r.Executed.Count(uint64(i + 1)); got != want {
			t.Errorf("request %d executed %d times, want %d", i+1, got, want)
		}
	}
}
