package dialer

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestDialContextFitsHTTPTransport(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }))
	defer srv.Close()
	d := &Dialer{Resolver: names{"origin.test": {"127.0.0.1"}}}
	tr := &http.Transport{DialContext: d.DialContext}
	defer tr.CloseIdleConnections()
	res, err := (&http.Client{Transport: tr}).Get("http://origin.test:" + portOf(t, srv.Listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); string(b) != "hello" || err != nil {
		t.Errorf("the body is %q, %v", b, err)
	}
}

func TestDialUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var d Dialer
	c, err := d.DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, ok := c.(*Conn).NetConn().(*net.UnixConn); !ok {
		t.Errorf("below is a %T", c.(*Conn).NetConn())
	}
	_, err = d.DialContext(t.Context(), "unix", path+".not")
	if e := wantError(t, err, StageConnect); !errors.Is(err, syscall.ENOENT) || e.Addr != path+".not" {
		t.Errorf("without a socket the error is %v", err)
	}
}

func TestDialPlain(t *testing.T) {
	p := newPeer(t, echo)
	l, err := (&Dialer{}).Dial(t.Context(), Route{Addr: p.addr})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Conn.Close()
	if _, ok := l.Conn.(*net.TCPConn); !ok {
		t.Errorf("the link has a %T", l.Conn)
	}
	if l.TLS != nil || l.Proto != "" || l.ConnectTook <= 0 || l.TLSTook != 0 || l.ProxyTook != 0 {
		t.Errorf("the link is %+v", l)
	}
	wantEcho(t, l.Conn)
}

func TestDialRefused(t *testing.T) {
	addr := refusing(t)
	_, err := (&Dialer{}).Dial(t.Context(), Route{Addr: addr})
	e := wantError(t, err, StageConnect)
	if !errors.Is(err, syscall.ECONNREFUSED) || e.Addr != addr || e.Timeout() {
		t.Errorf("error is %v", err)
	}
	if len(e.Tries) != 1 || e.Tries[0].Addr != addr || !errors.Is(e.Tries[0].Err, syscall.ECONNREFUSED) {
		t.Errorf("tries are %+v", e.Tries)
	}
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
		t.Errorf("errors.As finds %v", op)
	}
}

// Nothing is dialed, looked up or called for a caller that has gone.
func TestDialWithAContextThatHasEnded(t *testing.T) {
	var calls atomic.Int32
	p := newPeer(t, echo)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { calls.Add(1) },
		ConnectStart: func(_, _ string) { calls.Add(1) },
	}))
	cancel(cause)
	d := &Dialer{Resolver: resolverFunc(func(context.Context, string) ([]string, error) {
		calls.Add(1)
		return []string{"127.0.0.1"}, nil
	})}
	hook := func(ctx context.Context, network, addr string) (net.Conn, error) {
		calls.Add(1)
		return net.Dial(network, addr)
	}
	for _, r := range []Route{
		{Addr: "origin.test:" + portOf(t, p.addr)},
		{Addr: p.addr},
		{Addr: p.addr, Connect: hook},
		{Addr: p.addr, TLS: clientTLS(t), ConnectTLS: hook},
	} {
		_, err := d.Dial(ctx, r)
		if _, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Errorf("error is %v", err)
		}
	}
	if n := calls.Load() + int32(p.accepted()); n != 0 {
		t.Errorf("%d calls were made", n)
	}
}

func TestSocketSettings(t *testing.T) {
	p := newPeer(t, echo)
	var control, withContext atomic.Int32
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "mine")
	d := &Dialer{
		LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)},
		KeepAlive: net.KeepAliveConfig{Idle: -1},
		Control: func(string, string, syscall.RawConn) error {
			control.Add(1)
			return nil
		},
	}
	c, err := d.DialContext(ctx, "tcp", p.addr)
	if err != nil {
		t.Skipf("this host has no 127.0.0.9: %v", err)
	}
	defer c.Close()
	if got := c.LocalAddr().(*net.TCPAddr).IP.String(); got != "127.0.0.9" {
		t.Errorf("connected from %s", got)
	}
	d.ControlContext = func(ctx context.Context, network, address string, _ syscall.RawConn) error {
		if ctx.Value(key{}) == "mine" && network == "tcp4" && address == p.addr {
			withContext.Add(1)
		}
		return errors.New("not allowed")
	}
	_, err = d.DialContext(ctx, "tcp", p.addr)
	wantError(t, err, StageConnect)
	if control.Load() != 1 || withContext.Load() != 1 {
		t.Errorf("Control was called %d times, ControlContext %d times", control.Load(), withContext.Load())
	}
}

func TestKeepAliveSettings(t *testing.T) {
	if nd := (&Dialer{}).netDialer(); nd.KeepAlive != 0 || nd.KeepAliveConfig.Enable {
		t.Error("by default it isn't net.Dialer's default")
	}
	if nd := (&Dialer{KeepAlive: net.KeepAliveConfig{Idle: -1}}).netDialer(); nd.KeepAlive >= 0 {
		t.Error("probes can't be switched off")
	}
	if nd := (&Dialer{KeepAlive: net.KeepAliveConfig{Enable: true, Idle: -1}}).netDialer(); nd.KeepAlive != 0 || !nd.KeepAliveConfig.Enable {
		t.Error("a setting is lost")
	}
}

// The hooks of a trace are called before Dial returns, and not afterwards.
func TestConnectTrace(t *testing.T) {
	p := newPeer(t, echo)
	var started, done atomic.Int32
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		ConnectStart: func(_, _ string) { started.Add(1) },
		ConnectDone:  func(_, _ string, _ error) { done.Add(1) },
	})
	d := &Dialer{Resolver: names{"two.test": {"127.0.0.1", "::1"}}, FallbackDelay: time.Nanosecond}
	for range 50 {
		c, err := d.DialContext(ctx, "tcp", "two.test:"+portOf(t, p.addr))
		if err != nil {
			t.Fatal(err)
		}
		if s, e := started.Load(), done.Load(); s != e {
			t.Fatalf("%d attempts have started, %d have ended", s, e)
		}
		c.Close()
	}
}

func TestConnCounts(t *testing.T) {
	p := newPeer(t, echo)
	start := time.Now()
	nc, err := (&Dialer{}).DialContext(t.Context(), "tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := nc.(*Conn)
	if c.BytesRead() != 0 || c.BytesWritten() != 0 || !c.LastRead().IsZero() || !c.LastWrite().IsZero() {
		t.Errorf("a new connection has %d, %d, %v, %v", c.BytesRead(), c.BytesWritten(), c.LastRead(), c.LastWrite())
	}
	wantEcho(t, c)
	end := time.Now()
	if c.BytesRead() != 10 || c.BytesWritten() != 10 {
		t.Errorf("counted %d and %d bytes, want 10", c.BytesRead(), c.BytesWritten())
	}
	last := start
	for i, at := range []time.Time{c.Opened(), c.LastWrite(), c.LastRead(), end} {
		if at.Before(last) {
			t.Errorf("time %d is %v, before %v", i, at, last)
		}
		last = at
	}
	if _, err := c.SyscallConn(); err != nil {
		t.Errorf("SyscallConn: %v", err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Errorf("CloseWrite: %v", err)
	}
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after CloseWrite the echo ends with %v", err)
	}
	c.Close()
	if _, err := c.Write([]byte("lost")); err == nil || c.BytesWritten() != 10 {
		t.Errorf("after a failed write %d bytes are counted", c.BytesWritten())
	}
}

// halfConn accepts half of what is written, and looks at the counter meanwhile.
type halfConn struct {
	net.Conn
	during func()
}

func (c halfConn) Write(p []byte) (int, error) {
	c.during()
	return len(p) / 2, io.ErrShortWrite
}

func TestConnCountsBeforeItWrites(t *testing.T) {
	var c *Conn
	c = newConn(halfConn{during: func() {
		if c.BytesWritten() != 10 {
			t.Errorf("during the write %d bytes are counted", c.BytesWritten())
		}
	}})
	c.Write(make([]byte, 10))
	if c.BytesWritten() != 5 {
		t.Errorf("after it %d bytes are counted, want 5", c.BytesWritten())
	}
	if _, err := c.SyscallConn(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("SyscallConn: %v", err)
	}
	if err := c.CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("CloseWrite: %v", err)
	}
}
