package scenario

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// What goes wrong at a proxy goes wrong before a byte of the request has been sent, and
// is no answer of the origin's.

// peerIn starts a peer in another mode than the rig's.
func (r *rig) peerIn(m mode, s script) *rawPeer {
	r.t.Helper()
	own := r.mode
	r.mode = m
	defer func() { r.mode = own }()
	return r.peer(s)
}

// through is a Config for p as the proxy, spoken to by the given scheme.
func through(scheme string, p *rawPeer, d *dialer.Dialer) pool.Config {
	u := &url.URL{Scheme: scheme, Host: p.addr, User: url.UserPassword("user", "very-secret")}
	return pool.Config{Base: &http.Transport{Proxy: http.ProxyURL(u)}, Dialer: d}
}

// httpProxies are the schemes of proxies with CONNECT, and how they are spoken to.
var httpProxies = []struct {
	scheme string
	mode   mode
}{{"http", plain}, {"https", overT}}

// wantProxyError checks what is said of a failure at a proxy.
func wantProxyError(t *testing.T, name string, err error) *dialer.Error {
	t.Helper()
	e := poolError(t, err)
	if e.Phase != pool.PhaseDial || !e.Phase.Unprocessed() || e.Sent != 0 || e.BodyTouched {
		t.Errorf("%s: phase %v, %d bytes sent, body touched: %v", name, e.Phase, e.Sent, e.BodyTouched)
	}
	if strings.Contains(err.Error(), "very-secret") || strings.Contains(fmt.Sprintf("%+v", err), "very-secret") {
		t.Errorf("%s: the password is in the error: %v", name, err)
	}
	d, ok := errors.AsType[*dialer.Error](err)
	if !ok {
		t.Fatalf("%s: no *dialer.Error in %v", name, err)
	}
	return d
}

func TestARefusedTunnelIsATypedErrorAndNotTheOriginsAnswer(t *testing.T) {
	const body = `{"error":"no upstream"}`
	for _, status := range []int{407, 403, 503, 302, 404} {
		for _, px := range httpProxies {
			for _, f := range fronts {
				t.Run(fmt.Sprint(status, " ", px.scheme, " ", f.name), func(t *testing.T) {
					r := newRig(t, overT)
					origin := r.peer((*peerConn).serveWhole)
					p := r.peerIn(px.mode, func(c *peerConn) {
						if req, err := http.ReadRequest(c.br); err == nil && req.Method == http.MethodConnect {
							c.say("HTTP/1.1 %d No Way\r\nRetry-After: 7\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
							c.drain()
						}
					})
					tr := r.pool(through(px.scheme, p, nil))
					c := newCall(t.Context(), http.MethodPost, origin.url, oneShot)
					err := f.over(tr).send(c)
					d := wantProxyError(t, px.scheme, err)
					pe, ok := errors.AsType[*dialer.ProxyError](err)
					if d.Stage != dialer.StageProxy || !ok {
						t.Fatalf("stage %v, %v", d.Stage, err)
					}
					if pe.Status != status || pe.Header.Get("Retry-After") != "7" || string(pe.Body) != body || d.Timeout() {
						t.Errorf("status %d, header %v, body %q, timeout %v", pe.Status, pe.Header, pe.Body, d.Timeout())
					}
					dials := 1
					if f.name == retrying.name && status/100 != 4 {
						dials = 3 // the body is untouched
					}
					if origin.conns() != 0 || p.conns() != dials || c.body.reads.Load() != 0 {
						t.Errorf("%d connections at the origin, %d at the proxy, want %d, %d reads of the body", origin.conns(), p.conns(), dials, c.body.reads.Load())
					}
					if err := c.body.misuse(); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// A refusal is a proof, so a policy may ask the proxy again, with any method.
func TestARefusedTunnelIsAskedForAgainByPolicy(t *testing.T) {
	r := newRig(t, overT)
	origin := r.peer((*peerConn).serveWhole)
	p := r.peerIn(plain, func(c *peerConn) {
		if c.num < 2 {
			if _, err := http.ReadRequest(c.br); err == nil {
				c.say("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
				c.drain()
			}
			return
		}
		pipe(c, http.StatusOK, "")
	})
	c, rep := reported(newCall(t.Context(), http.MethodPost, origin.url, replayable))
	over(r.pool(through("http", p, nil)), quick(retry.Default())).must(t, c)
	if rep.Retries != 2 || origin.count(c.id) != 1 {
		t.Errorf("%d retries, executed %d times, want 2 and 1", rep.Retries, origin.count(c.id))
	}
}

// pipe answers a CONNECT with fields, and connects both sides until one of them ends.
func pipe(c *peerConn, status int, fields string) {
	req, err := http.ReadRequest(c.br)
	if err != nil {
		return
	}
	far, err := net.Dial("tcp", req.URL.Host)
	if err != nil {
		return
	}
	defer far.Close()
	c.say("HTTP/1.1 %d OK\r\n%s\r\n", status, fields)
	splice(c, far)
}

// splice copies both ways until either side ends. The kernel's own way from socket to
// socket isn't taken: Go keeps the pipes that it needs, and descriptors are counted here.
func splice(c *peerConn, far net.Conn) {
	go func() {
		io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{far})
		c.tcp.Close()
	}()
	io.Copy(struct{ io.Writer }{far}, struct{ io.Reader }{c.br})
}

func TestATunnelBeginsBehindTheHeadWhateverItSaysOfABody(t *testing.T) {
	for _, px := range httpProxies {
		t.Run(px.scheme, func(t *testing.T) {
			r := newRig(t, overT)
			origin := r.peer((*peerConn).serveWhole)
			for _, tt := range []struct {
				status int
				fields string
			}{
				{200, ""}, {200, "Content-Length: 10\r\n"}, {204, ""}, {201, "Transfer-Encoding: chunked\r\n"},
				{200, "Connection: close\r\n"}, {299, "Content-Length: 1000000\r\nContent-Type: text/html\r\n"},
			} {
				p := r.peerIn(px.mode, func(c *peerConn) { pipe(c, tt.status, tt.fields) })
				do := doer(r.pool(through(px.scheme, p, nil)).RoundTrip)
				for range 2 {
					do.must(t, newCall(t.Context(), http.MethodPost, origin.url, oneShot))
				}
				if p.conns() != 1 {
					t.Errorf("%d, %q: %d connections, want 1", tt.status, tt.fields, p.conns())
				}
			}
		})
	}
}

// A refusal's body is for people. It costs neither memory nor much time.
func TestARefusalsBodyIsBounded(t *testing.T) {
	r := newRig(t, overT)
	for _, head := range []string{"", "Content-Length: 1000000000\r\n", "Transfer-Encoding: chunked\r\n"} {
		p := r.peerIn(plain, func(c *peerConn) {
			if _, err := http.ReadRequest(c.br); err != nil {
				return
			}
			c.say("HTTP/1.1 503 Busy\r\n%s\r\n", head)
			if strings.HasPrefix(head, "T") {
				c.say("ffffff\r\n")
			}
			for err := error(nil); err == nil; {
				_, err = io.WriteString(c, mibBody)
			}
		})
		tr := r.pool(through("http", p, nil))
		start := time.Now()
		_, err := tr.RoundTrip(newCall(t.Context(), http.MethodGet, "https://origin.invalid/", noBody).Request)
		pe, ok := errors.AsType[*dialer.ProxyError](err)
		if !ok || len(pe.Body) == 0 || len(pe.Body) > 64<<10 {
			t.Errorf("%q: %v with %d bytes of a body", head, err, len(pe.Body))
		}
		if d := time.Since(start); d > patience/2 {
			t.Errorf("%q: it took %v", head, d)
		}
	}
}

// silences are ways in which a proxy accepts a connection and then gets nowhere.
var silences = []struct {
	name, scheme string
	mode         mode
	stage        dialer.Stage
	play         func(*peerConn)
}{
	{"HTTP proxy, nothing", "http", plain, dialer.StageProxy, func(*peerConn) {}},
	{"HTTP proxy, a dribble", "http", plain, dialer.StageProxy, dribble},
	{"HTTP proxy, interim answers", "http", plain, dialer.StageProxy, func(c *peerConn) { c.say("HTTP/1.1 102 Processing\r\n\r\n") }},
	{"TLS proxy, no handshake", "https", plain, dialer.StageTLS, func(*peerConn) {}},
	{"TLS proxy, nothing behind the handshake", "https", overT, dialer.StageProxy, func(*peerConn) {}},
	{"TLS proxy, a dribble", "https", overT, dialer.StageProxy, dribble},
	{"SOCKS5, nothing", "socks5", plain, dialer.StageProxy, func(*peerConn) {}},
	{"SOCKS5, a method and nothing", "socks5", plain, dialer.StageProxy, func(c *peerConn) { c.Write([]byte{5, 0}) }},
	{"SOCKS5, half a reply", "socks5h", plain, dialer.StageProxy, func(c *peerConn) { c.Write([]byte{5, 0, 5, 0, 0}) }},
}

// dribble sends a header that doesn't end, byte by byte.
func dribble(c *peerConn) {
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for _, b := range []byte("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Filler: yes\r\n", 1000)) {
		if _, err := c.Write([]byte{b}); err != nil {
			return
		}
		<-pace.C
	}
}

// A stuck is a dial that gets nowhere at a proxy, as the proxy sees it.
type stuck struct {
	pool   func(*dialer.Dialer) *pool.Transport
	stage  dialer.Stage
	begun  chan struct{}  // the proxy has reached the point where it falls silent
	closed chan time.Time // the client closed the connection
}

// eachSilence runs test against each of them.
func eachSilence(t *testing.T, test func(*testing.T, *stuck)) {
	t.Helper()
	for _, s := range silences {
		t.Run(s.name, func(t *testing.T) {
			r := newRig(t, overT)
			d := &stuck{stage: s.stage, begun: make(chan struct{}), closed: make(chan time.Time, 1)}
			p := r.peerIn(s.mode, func(c *peerConn) {
				close(d.begun)
				go func() {
					c.drain()
					d.closed <- time.Now()
					c.tcp.Close() // ends a dribble
				}()
				s.play(c)
				<-c.peer.over
			})
			d.pool = func(set *dialer.Dialer) *pool.Transport { return r.pool(through(s.scheme, p, set)) }
			test(t, d)
		})
	}
}

// wantClosed waits for the connection's end and checks when that was.
func (d *stuck) wantClosed(t *testing.T, since time.Time, limit time.Duration) {
	t.Helper()
	select {
	case at := <-d.closed:
		if took := at.Sub(since); took > limit {
			t.Errorf("the connection was closed after %v, want %v at most", took, limit)
		}
	case <-time.After(patience):
		t.Errorf("the connection was not closed within %v", patience)
	}
}

const never = "https://origin.invalid/" // what no proxy here gets to

func TestAProxyThatGetsNowhereEndsByTheStagesLimit(t *testing.T) {
	const limit = 200 * time.Millisecond
	eachSilence(t, func(t *testing.T, s *stuck) {
		start := time.Now()
		c := newCall(t.Context(), http.MethodPost, never, oneShot)
		err := doer(s.pool(&dialer.Dialer{ProxyTimeout: limit, TLSTimeout: limit}).RoundTrip).send(c)
		took := time.Since(start)
		d := wantProxyError(t, "", err)
		if d.Stage != s.stage || !d.Timeout() || !poolError(t, err).Timeout() || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stage %v, timeout %v: %v", d.Stage, d.Timeout(), err)
		}
		if took < limit || took > patience/2 {
			t.Errorf("it took %v, want about %v", took, limit)
		}
		s.wantClosed(t, start.Add(took), patience/4)
		if err := c.body.misuse(); err != nil || c.body.reads.Load() != 0 {
			t.Errorf("%d reads of the body, %v", c.body.reads.Load(), err)
		}
	})
}

func TestAProxyThatGetsNowhereDoesNotHoldACallerBeyondItsDeadline(t *testing.T) {
	const limit = 100 * time.Millisecond
	eachSilence(t, func(t *testing.T, s *stuck) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		c := newCall(ctx, http.MethodPost, never, oneShot)
		// The dialer's own limits are far: only the caller's leaving can end the dial.
		err := doer(s.pool(&dialer.Dialer{ProxyTimeout: time.Hour, TLSTimeout: time.Hour}).RoundTrip).send(c)
		took := time.Since(start)
		e := poolError(t, err)
		if e.Phase != pool.PhaseDial || !errors.Is(err, context.DeadlineExceeded) || !e.Timeout() {
			t.Errorf("phase %v: %v", e.Phase, err)
		}
		if took < limit || took > patience/2 {
			t.Errorf("it took %v, want about %v", took, limit)
		}
		s.wantClosed(t, start.Add(took), patience/4)
	})
}

func TestCloseEndsADialThatIsStuckInAProxy(t *testing.T) {
	eachSilence(t, func(t *testing.T, s *stuck) {
		tr := s.pool(nil)
		failed := make(chan error, 1)
		go func() {
			failed <- doer(tr.RoundTrip).send(newCall(context.Background(), http.MethodPost, never, oneShot))
		}()
		<-s.begun
		start := time.Now()
		tr.Close()
		if err := <-failed; !errors.Is(err, pool.ErrClosed) {
			t.Errorf("the request ended with %v", err)
		}
		s.wantClosed(t, start, patience/4)
	})
}

func TestASOCKSProxysRefusalHasItsCodeAndLeaksNothing(t *testing.T) {
	for _, m := range []mode{plain, overT} {
		t.Run(m.name, func(t *testing.T) {
			r := newRig(t, m)
			origin := r.peer((*peerConn).serveWhole)
			p := r.peerIn(plain, func(c *peerConn) {
				refuseSOCKS(c, byte(1+c.num%8))
			})
			tr := r.pool(through("socks5", p, nil))
			fds := openFDs()
			for n := range 100 {
				c := newCall(t.Context(), http.MethodPost, origin.url, oneShot)
				err := doer(tr.RoundTrip).send(c)
				d := wantProxyError(t, "socks5", err)
				se, ok := errors.AsType[*dialer.SOCKSError](err)
				if d.Stage != dialer.StageProxy || !ok || int(se.Reply) != 1+n%8 {
					t.Fatalf("try %d: stage %v, %v", n, d.Stage, err)
				}
			}
			if !within(restTime, func() bool { return openFDs() <= fds }) {
				t.Errorf("%d descriptors are open, %d were before", openFDs(), fds)
			}
			if origin.conns() != 0 || p.conns() != 100 {
				t.Errorf("%d connections at the origin, %d at the proxy", origin.conns(), p.conns())
			}
		})
	}
}

// refuseSOCKS plays a SOCKS5 server (RFC 1928, RFC 1929) that refuses with a reply.
func refuseSOCKS(c *peerConn, reply byte) {
	if err := socksRequest(c.br, c); err == nil {
		c.Write([]byte{5, reply, 0, 1, 0, 0, 0, 0, 0, 0})
		c.drain()
	}
}

// socksRequest goes through the protocol up to the client's request.
func socksRequest(br *bufio.Reader, w io.Writer) error {
	head := make([]byte, 2)
	if _, err := io.ReadFull(br, head); err != nil {
		return err
	}
	offered := make([]byte, head[1])
	if _, err := io.ReadFull(br, offered); err != nil {
		return err
	}
	if bytes.IndexByte(offered, 2) >= 0 {
		w.Write([]byte{5, 2})
		if err := socksPassword(br); err != nil {
			return err
		}
		w.Write([]byte{1, 0})
	} else {
		w.Write([]byte{5, 0})
	}
	fixed := make([]byte, 4)
	if _, err := io.ReadFull(br, fixed); err != nil {
		return err
	}
	n := 4 + 2
	if fixed[3] == 3 {
		l, err := br.ReadByte()
		if err != nil {
			return err
		}
		n = int(l) + 2
	}
	_, err := io.ReadFull(br, make([]byte, n))
	return err
}

func socksPassword(br *bufio.Reader) error {
	if _, err := br.Discard(1); err != nil {
		return err
	}
	for range 2 {
		n, err := br.ReadByte()
		if err != nil {
			return err
		}
		if _, err := br.Discard(int(n)); err != nil {
			return err
		}
	}
	return nil
}
