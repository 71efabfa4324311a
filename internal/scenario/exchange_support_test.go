package scenario

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/connwise/health"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// patience bounds every wait for something that is sure to come. No test measures it.
const patience = 10 * time.Second

// arrives waits for a request's first byte, and leaves it unread. It reports false when
// the connection ended instead.
func (c *peerConn) arrives() bool {
	_, err := c.br.Peek(1)
	return err == nil
}

// A leave closes a connection. What the peer hasn't read doesn't make a reset of a FIN,
// since the socket stays until the client has closed.
type leave struct {
	name string
	by   func(*peerConn)
}

var (
	leaveFIN  = leave{"FIN", func(c *peerConn) { c.shut(true) }}
	leaveBare = leave{"bare FIN", func(c *peerConn) { c.shut(false) }}
	leaveRST  = leave{"RST", func(c *peerConn) { c.tcp.SetLinger(0); c.tcp.Close() }}
	leaves    = []leave{leaveFIN, leaveBare, leaveRST}
)

func (c *peerConn) shut(notify bool) {
	if t, ok := c.Conn.(*tls.Conn); ok && notify {
		t.CloseWrite()
	}
	c.tcp.CloseWrite()
	io.Copy(io.Discard, c.tcp)
}

// eachLeave runs test over plain connections and TLS, with each way to close them.
func eachLeave(t *testing.T, test func(*testing.T, *rig, leave)) {
	t.Helper()
	for _, m := range []mode{plain, overT} {
		for _, l := range leaves {
			if !m.tls && l.name == leaveBare.name {
				continue // it's a FIN
			}
			t.Run(m.name+"/"+l.name, func(t *testing.T) { test(t, newRig(t, m), l) })
		}
	}
}

// whole reads a request of any body, and counts it.
func (c *peerConn) whole() (*received, error) {
	req, err := http.ReadRequest(c.br)
	if err != nil {
		return nil, err
	}
	return c.rest(req)
}

// rest reads the body of a request whose head was read, and counts it.
func (c *peerConn) rest(req *http.Request) (*received, error) {
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	q := &received{req, req.Header.Get(idHeader), string(b)}
	c.peer.mu.Lock()
	defer c.peer.mu.Unlock()
	c.peer.got[q.id]++
	c.peer.total++
	return q, nil
}

func (c *peerConn) say(format string, args ...any) { fmt.Fprintf(c, format, args...) }

// serveWhole answers requests of any body until the connection ends.
func (c *peerConn) serveWhole() {
	for q, err := c.whole(); err == nil; q, err = c.whole() {
		if c.answer(q) != nil {
			return
		}
	}
}

// An inbox has what a peer's application received, in order.
type inbox struct {
	mu   sync.Mutex
	mail []received
}

func (in *inbox) put(q *received) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.mail = append(in.mail, *q)
}

func (in *inbox) all() []received {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.mail)
}

// sockets has what a transport dialled, so that a test can see what arrived there.
type sockets struct {
	mu  sync.Mutex
	all []net.Conn
}

// watch makes cfg's transport dial through s.
func (s *sockets) watch(cfg *pool.Config) {
	if cfg.Base == nil {
		cfg.Base = &http.Transport{}
	}
	cfg.Base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			s.mu.Lock()
			s.all = append(s.all, c)
			s.mu.Unlock()
		}
		return c, err
	}
}

// number returns the nth socket, the first being 0.
func (s *sockets) number(n int) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[n]
}

// ended waits until the peer's close has arrived at a socket, or at the least has been
// seen to. No event tells it that wouldn't take it from the pool.
func ended(c net.Conn) bool {
	return within(patience, func() bool { v, _ := health.Socket(c); return v != health.Alive })
}

// A cargo is a way in which callers hand a body over.
type cargo struct {
	name       string
	replayable bool // by GetBody, or by seeking
	load       func(t *testing.T, req *http.Request, content string)
}

var (
	cargoBytes = cargo{"bytes", true, func(_ *testing.T, req *http.Request, s string) {
		reload(req, int64(len(s)), func() io.ReadCloser { return io.NopCloser(strings.NewReader(s)) })
	}}
	cargoStream = cargo{"replayable stream", true, func(_ *testing.T, req *http.Request, s string) {
		reload(req, -1, func() io.ReadCloser { return &onceBody{r: strings.NewReader(s)} })
	}}
	cargoFile = cargo{"file", true, func(t *testing.T, req *http.Request, s string) {
		req.Body, req.ContentLength = tempFile(t, s), int64(len(s))
	}}
	cargoBare = cargo{"in memory without GetBody", false, func(_ *testing.T, req *http.Request, s string) {
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(s)), int64(len(s))
	}}
	cargoSized = cargo{"one-shot of known length", false, func(_ *testing.T, req *http.Request, s string) {
		req.Body, req.ContentLength = &onceBody{r: strings.NewReader(s)}, int64(len(s))
	}}
	cargoOnce = cargo{"one-shot of unknown length", false, func(_ *testing.T, req *http.Request, s string) {
		req.Body, req.ContentLength = &onceBody{r: strings.NewReader(s)}, -1
	}}
	cargoes = []cargo{cargoBytes, cargoStream, cargoFile, cargoBare, cargoSized, cargoOnce}
)

// reload gives req a body that can be had again.
func reload(req *http.Request, length int64, body func() io.ReadCloser) {
	req.Body, req.ContentLength = body(), length
	req.GetBody = func() (io.ReadCloser, error) { return body(), nil }
}

func tempFile(t *testing.T, content string) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// newUpload makes a request whose body is content.
func newUpload(t *testing.T, ctx context.Context, method, url string, k cargo, content string) *call {
	t.Helper()
	c := newCall(ctx, method, url, noBody)
	k.load(t, c.Request, content)
	c.body, _ = c.Body.(*onceBody)
	return c
}

// quick is p without waits, for tests that aren't about time.
func quick(p retry.Policy) retry.Policy {
	p.Backoff = func(int) time.Duration { return 0 }
	return p
}

// over is the retry layer over tr.
func over(tr *pool.Transport, p retry.Policy) doer {
	return (&retry.Transport{Base: tr, Policy: p}).RoundTrip
}

// reported gives c a report of its retries.
func reported(c *call) (*call, *retry.Report) {
	rep := new(retry.Report)
	c.Request = c.WithContext(retry.WithReport(c.Context(), rep))
	return c, rep
}
