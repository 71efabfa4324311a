package dialer

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func proxyURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestTunnel(t *testing.T) {
	origin := newPeer(t, withTLS(serverTLS(t), echo))
	plainOrigin := newPeer(t, echo)
	asked := make(chan *http.Request, 1)
	plainProxy := newPeer(t, httpProxy(asked))
	tlsProxy := newPeer(t, withTLS(serverTLS(t), httpProxy(asked)))
	withName := clientTLS(t)
	withName.ServerName = "origin.test"
	withName.NextProtos = []string{"http/1.1"}
	tests := []struct {
		name  string
		route Route
	}{
		{"http proxy", Route{Addr: origin.addr, TLS: clientTLS(t), Proxy: proxyURL(t, "http://"+plainProxy.addr)}},
		{"https proxy", Route{Addr: origin.addr, TLS: clientTLS(t), Proxy: proxyURL(t, "https://"+tlsProxy.addr)}},
		{"https proxy, named origin", Route{Addr: origin.addr, TLS: withName, Proxy: proxyURL(t, "https://"+tlsProxy.addr)}},
		{"https proxy with its own TLS", Route{Addr: origin.addr, TLS: withName, ProxyTLS: clientTLS(t), Proxy: proxyURL(t, "https://"+tlsProxy.addr)}},
		{"plain origin", Route{Addr: plainOrigin.addr, Proxy: proxyURL(t, "http://"+plainProxy.addr)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, err := (&Dialer{}).Dial(t.Context(), tt.route)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Conn.Close()
			wantEcho(t, l.Conn)
			if (l.TLS != nil) != (tt.route.TLS != nil) || l.ProxyTook <= 0 {
				t.Errorf("the link is %+v", l)
			}
			req := <-asked
			want := http.Header{"User-Agent": {"Go-http-client/1.1"}}
			if req.Method != "CONNECT" || req.RequestURI != tt.route.Addr || req.Host != tt.route.Addr || !reflect.DeepEqual(req.Header, want) {
				t.Errorf("the proxy is asked for %s %s, Host %s, %v", req.Method, req.RequestURI, req.Host, req.Header)
			}
		})
	}
}

// The connection to a forwarding proxy is the link.
func TestForward(t *testing.T) {
	p := newPeer(t, echo)
	l, err := (&Dialer{}).Dial(t.Context(), Route{Addr: "origin.test:80", Forward: true, Proxy: proxyURL(t, "http://user:pw@"+p.addr)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Conn.Close()
	wantEcho(t, l.Conn) // so the proxy got nothing else
	s := newPeer(t, withTLS(serverTLS(t), echo))
	l, err = (&Dialer{}).Dial(t.Context(), Route{Addr: "origin.test:80", Forward: true, ProxyTLS: clientTLS(t), Proxy: proxyURL(t, "https://"+s.addr)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Conn.Close()
	wantEcho(t, l.Conn)
	if l.TLS != nil {
		t.Error("TLS with the proxy is taken for TLS with the origin")
	}
}

func TestTunnelHeader(t *testing.T) {
	origin := newPeer(t, echo)
	asked := make(chan *http.Request, 1)
	p := newPeer(t, httpProxy(asked))
	own := http.Header{"Proxy-Authorization": {"Bearer t"}, "User-Agent": {"me/1"}}
	const basic = "Basic dXNlcjpwQHNz" // user:p@ss
	get := func(h http.Header) func(context.Context, *url.URL, string) (http.Header, error) {
		return func(_ context.Context, u *url.URL, target string) (http.Header, error) {
			if u.Host != p.addr || target != origin.addr {
				t.Errorf("GetProxyHeader is asked for %s by %s", target, u)
			}
			return h, nil
		}
	}
	tests := []struct {
		name, user string
		header     http.Header
		get        func(context.Context, *url.URL, string) (http.Header, error)
		auth       string
		agent      string
	}{
		{"nothing", "", nil, nil, "", "Go-http-client/1.1"},
		{"credentials", "user:p%40ss@", nil, nil, basic, "Go-http-client/1.1"},
		{"header", "", own, nil, "Bearer t", "me/1"},
		{"header and credentials", "user:p%40ss@", own, nil, "Bearer t", "me/1"},
		{"other header and credentials", "user:p%40ss@", http.Header{"X": {"1"}}, nil, basic, "Go-http-client/1.1"},
		{"hook", "", http.Header{"User-Agent": {"no"}}, get(own), "Bearer t", "me/1"},
		{"empty hook and credentials", "user:p%40ss@", own, get(nil), basic, "Go-http-client/1.1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.header.Clone()
			l, err := (&Dialer{}).Dial(t.Context(), Route{
				Addr: origin.addr, Proxy: proxyURL(t, "http://"+tt.user+p.addr),
				ProxyHeader: tt.header, GetProxyHeader: tt.get,
			})
			if err != nil {
				t.Fatal(err)
			}
			l.Conn.Close()
			h := (<-asked).Header
			if h.Get("Proxy-Authorization") != tt.auth || h.Get("User-Agent") != tt.agent {
				t.Errorf("the proxy gets %v", h)
			}
			if !reflect.DeepEqual(tt.header, before) {
				t.Errorf("the caller's header is now %v", tt.header)
			}
		})
	}
	t.Run("hook fails", func(t *testing.T) {
		odd := errors.New("no token")
		_, err := (&Dialer{}).Dial(t.Context(), Route{Addr: origin.addr, Proxy: proxyURL(t, "http://"+p.addr),
			GetProxyHeader: func(context.Context, *url.URL, string) (http.Header, error) { return nil, odd }})
		wantError(t, err, StageProxy)
		if !errors.Is(err, odd) {
			t.Errorf("error is %v", err)
		}
	})
}

// answering is a script for a proxy that answers with this text, and then waits.
func answering(text string) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			io.WriteString(c, text)
			io.Copy(io.Discard, c)
		}
		c.Close()
	}
}

func TestTunnelRefused(t *testing.T) {
	long := strings.Repeat("x", 3*maxProxyBody)
	tests := []struct {
		name, answer string
		status       int
		text, body   string
	}{
		{"407", "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\nRetry-After: 7\r\n\r\nno", 407, "Proxy Authentication Required", "no"},
		{"503 in chunks", "HTTP/1.1 503 Go Away\r\nTransfer-Encoding: chunked\r\nRetry-After: 7\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 503, "Go Away", "{}"},
		{"no text", "HTTP/1.1 403\r\nContent-Length: 0\r\nRetry-After: 7\r\n\r\n", 403, "", ""},
		{"redirect", "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nRetry-After: 7\r\n\r\n", 302, "Found", ""},
		{"upgrade", "HTTP/1.1 101 Switching Protocols\r\nRetry-After: 7\r\n\r\n", 101, "Switching Protocols", ""},
		{"1xx before", "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nRetry-After: 7\r\n\r\nno", 403, "Forbidden", "no"},
		{"long body", "HTTP/1.1 500 Oops\r\nContent-Length: 12288\r\nRetry-After: 7\r\n\r\n" + long, 500, "Oops", long[:maxProxyBody]},
		{"body that doesn't end", "HTTP/1.1 500 Oops\r\nRetry-After: 7\r\n\r\npart", 500, "Oops", "part"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPeer(t, answering(tt.answer))
			start := time.Now()
			_, err := (&Dialer{}).Dial(t.Context(), Route{Addr: "origin.test:443", TLS: clientTLS(t), Proxy: proxyURL(t, "http://bob:secret@"+p.addr)})
			wantSoon(t, "the refusal", start, time.Now(), 3*time.Second)
			e := wantError(t, err, StageProxy)
			pe, ok := errors.AsType[*ProxyError](err)
			if !ok || e.Addr != "origin.test:443" || e.Timeout() {
				t.Fatalf("error is %+v", err)
			}
			if pe.Status != tt.status || pe.StatusText != tt.text || string(pe.Body) != tt.body || pe.Header.Get("Retry-After") != "7" {
				t.Errorf("facts are %d %q, %v, %d bytes", pe.Status, pe.StatusText, pe.Header, len(pe.Body))
			}
			if !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("text is %q", err)
			}
		})
	}
}

// What the proxy has said counts, even if the time ends before its last word.
func TestTunnelRefusedAtTheLimit(t *testing.T) {
	p := newPeer(t, answering("HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\npart"))
	d := &Dialer{ProxyTimeout: refusalTime * 4 / 5}
	_, err := d.Dial(t.Context(), Route{Addr: "origin.test:80", Proxy: proxyURL(t, "http://"+p.addr)})
	e := wantError(t, err, StageProxy)
	if pe, ok := errors.AsType[*ProxyError](err); !ok || string(pe.Body) != "part" || e.Timeout() {
		t.Errorf("error is %v", err)
	}
}

// Success has no body, whatever the proxy says, and what follows belongs to the origin.
func TestTunnelAnswers(t *testing.T) {
	for name, answer := range map[string]string{
		"200":            "HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.0":       "HTTP/1.0 200 Connection established\r\n\r\n",
		"Content-Length": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
		"chunked":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"204":            "HTTP/1.1 204 No Content\r\n\r\n",
		"1xx before":     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			const early = "220 I speak first"
			p := newPeer(t, answering(answer+early))
			l, err := (&Dialer{}).Dial(t.Context(), Route{Addr: "origin.test:80", Proxy: proxyURL(t, "http://"+p.addr)})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Conn.Close()
			l.Conn.SetDeadline(time.Now().Add(patience))
			wantRead(t, l.Conn, early)
		})
	}
}

func TestTunnelThatFails(t *testing.T) {
	closed := make(chan time.Time, 1)
	endless := func(head, piece string) func(net.Conn) {
		return func(c net.Conn) {
			defer func() { closed <- time.Now() }()
			if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
				return
			}
			io.WriteString(c, head)
			for {
				if _, err := io.WriteString(c, piece); err != nil {
					return
				}
			}
		}
	}
	tests := []struct {
		name   string
		script func(net.Conn)
		reason error
	}{
		{"silence", silent(closed), os.ErrDeadlineExceeded},
		{"half a head", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
			silent(closed)(c)
		}, os.ErrDeadlineExceeded},
		{"closed at once", func(c net.Conn) {
			http.ReadRequest(bufio.NewReader(c))
			c.Close()
			closed <- time.Now()
		}, io.ErrUnexpectedEOF},
		{"head without end", endless("HTTP/1.1 200 OK\r\n", strings.Repeat("X: y\r\n", 1000)), errProxyHead},
		{"line without end", endless("", strings.Repeat("infinite stream of bytes", 200)), errProxyHead},
		{"1xx without end", endless("", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100)), errProxyHead},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPeer(t, tt.script)
			limit := patience // to read as much as is too much takes its time on a busy machine
			if tt.reason == os.ErrDeadlineExceeded {
				limit = 300 * time.Millisecond
			}
			start := time.Now()
			_, err := (&Dialer{ProxyTimeout: limit}).Dial(t.Context(),
				Route{Addr: "origin.test:443", TLS: clientTLS(t), Proxy: proxyURL(t, "http://"+p.addr)})
			end := time.Now()
			wantSoon(t, "Dial", start, end, limit+2*time.Second)
			e := wantError(t, err, StageProxy)
			if !errors.Is(err, tt.reason) {
				t.Errorf("error is %v", err)
			}
			if e.Timeout() != (tt.reason == os.ErrDeadlineExceeded) {
				t.Errorf("error %v: Timeout is %v", err, e.Timeout())
			}
			if _, ok := errors.AsType[*net.OpError](err); ok && tt.reason == os.ErrDeadlineExceeded {
				t.Errorf("error %v: the limit looks like a failure to reach the proxy", err)
			}
			wantEvent(t, "the connection to the proxy is closed", closed)
		})
	}
}

// A proxy that is there but speaks something else has answered, unlike one that goes away.
func TestAnswerThatIsNoHTTP(t *testing.T) {
	p := newPeer(t, answering("SSH-2.0-OpenSSH_9.2\r\n\r\n"))
	_, err := (&Dialer{}).Dial(t.Context(), Route{Addr: "origin.test:80", Proxy: proxyURL(t, "http://"+p.addr)})
	wantError(t, err, StageProxy)
	if e, ok := errors.AsType[*ProxyError](err); !ok || e.Status != 0 || e.Err == nil {
		t.Errorf("error is %v", err)
	}
}

// A caller that goes away leaves nothing behind, in whatever the proxy is stuck.
func TestTunnelCancelled(t *testing.T) {
	for _, scheme := range []string{"http", "https", "socks5"} {
		t.Run(scheme, func(t *testing.T) {
			reached := make(chan struct{}, 1)
			closed := make(chan time.Time, 1)
			script := func(c net.Conn) {
				c.Read(make([]byte, 1))
				reached <- struct{}{}
				silent(closed)(c)
			}
			if scheme == "https" {
				script = withTLS(serverTLS(t), script)
			}
			p := newPeer(t, script)
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-reached
				cancel(cause)
			}()
			_, err := (&Dialer{}).Dial(ctx, Route{Addr: "origin.test:443", TLS: clientTLS(t), Proxy: proxyURL(t, scheme+"://"+p.addr)})
			end := time.Now()
			e := wantError(t, err, StageProxy)
			if !errors.Is(err, cause) || !errors.Is(err, context.Canceled) || e.Timeout() {
				t.Errorf("error is %v", err)
			}
			wantSoon(t, "the close", end, wantEvent(t, "the connection is closed", closed), time.Second)
		})
	}
}

func TestProxyThatCannotBeReached(t *testing.T) {
	addr := refusing(t)
	untrusted := newPeer(t, withTLS(serverTLS(t), echo))
	hookErr := errors.New("some dial error")
	d := &Dialer{Resolver: names{}}
	tests := []struct {
		name, proxy string
		route       Route
		stage       Stage
		at          string
	}{
		{"refused", "http://u:secret@" + addr, Route{}, StageConnect, addr},
		{"refused, forward", "http://u:secret@" + addr, Route{Forward: true}, StageConnect, addr},
		{"refused, SOCKS", "socks5://u:secret@" + addr, Route{}, StageConnect, addr},
		{"no such host", "http://u:secret@proxy.test", Route{}, StageResolve, "proxy.test:80"},
		{"untrusted", "https://u:secret@" + untrusted.addr, Route{}, StageTLS, untrusted.addr},
		{"hook", "http://u:secret@proxy.test", Route{Connect: func(context.Context, string, string) (net.Conn, error) { return nil, hookErr }}, StageConnect, "proxy.test:80"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.route
			r.Addr, r.Proxy = "origin.test:443", proxyURL(t, tt.proxy)
			_, err := d.Dial(t.Context(), r)
			e := wantError(t, err, tt.stage)
			op, ok := errors.AsType[*net.OpError](err)
			if !ok || op.Op != "proxyconnect" || op.Net != "tcp" {
				t.Errorf("error %v: errors.As finds %#v", err, op)
			}
			if tt.name == "hook" && op.Err != hookErr {
				t.Errorf("the hook's error has become %v", op.Err)
			}
			if e.Addr != tt.at || strings.Contains(err.Error(), "secret") {
				t.Errorf("error is %q at %s", err, e.Addr)
			}
		})
	}
}

func TestProxySchemeThatIsNotKnown(t *testing.T) {
	_, err := (&Dialer{}).Dial(t.Context(), Route{Addr: "origin.test:80", Proxy: proxyURL(t, "ftp://u:secret@proxy.test")})
	wantError(t, err, StageProxy)
	if strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "ftp") {
		t.Errorf("text is %q", err)
	}
}

func TestOnProxyResponse(t *testing.T) {
	odd := errors.New("not this one")
	for _, answer := range []string{"200 OK", "404 Not Found"} {
		for _, fail := range []bool{false, true} {
			p := newPeer(t, answering("HTTP/1.1 "+answer+"\r\nContent-Length: 0\r\nX: y\r\n\r\n"))
			var calls int
			l, err := (&Dialer{}).Dial(t.Context(), Route{Addr: "origin.test:80", Proxy: proxyURL(t, "http://u:p@"+p.addr),
				OnProxyResponse: func(_ context.Context, u *url.URL, req *http.Request, res *http.Response) error {
					calls++
					if u.Host != p.addr || req.Method != "CONNECT" || req.Host != "origin.test:80" || res.Status != answer || res.Header.Get("X") != "y" {
						t.Errorf("the hook gets %v, %+v, %+v", u, req, res)
					}
					if fail {
						return odd
					}
					return nil
				}})
			if calls != 1 {
				t.Errorf("the hook is called %d times", calls)
			}
			_, refused := errors.AsType[*ProxyError](err)
			_, hook := errors.AsType[*HookError](err)
			switch {
			case fail && !(errors.Is(err, odd) && hook), !fail && answer == "200 OK" && err != nil, !fail && answer != "200 OK" && !refused:
				t.Errorf("%s, hook fails: %v: error is %v", answer, fail, err)
			}
			if l != nil {
				l.Conn.Close()
			}
		}
	}
}

// Neither of the proxy's functions can hold up the dial.
func TestProxyHooksThatHang(t *testing.T) {
	p := newPeer(t, answering("HTTP/1.1 200 OK\r\n\r\n"))
	hang := make(chan struct{})
	defer close(hang)
	base := Route{Addr: "origin.test:80", Proxy: proxyURL(t, "http://"+p.addr)}
	header, response := base, base
	header.GetProxyHeader = func(context.Context, *url.URL, string) (http.Header, error) {
		<-hang
		return nil, nil
	}
	response.OnProxyResponse = func(context.Context, *url.URL, *http.Request, *http.Response) error {
		<-hang
		return nil
	}
	for _, r := range []Route{header, response} {
		start := time.Now()
		_, err := (&Dialer{ProxyTimeout: 100 * time.Millisecond}).Dial(t.Context(), r)
		wantSoon(t, "Dial", start, time.Now(), 2*time.Second)
		if e := wantError(t, err, StageProxy); !e.Timeout() {
			t.Errorf("error is %v", err)
		}
	}
}

// As in net/http, a hook for TLS connections makes those with an https proxy too.
func TestConnectTLSReachesTheProxy(t *testing.T) {
	origin := newPeer(t, echo)
	asked := make(chan *http.Request, 1)
	p := newPeer(t, withTLS(serverTLS(t), httpProxy(asked)))
	cfg := clientTLS(t)
	cfg.ServerName = "proxy.test"
	l, err := (&Dialer{}).Dial(t.Context(), Route{Addr: origin.addr, Proxy: proxyURL(t, "https://"+p.addr),
		ConnectTLS: func(_ context.Context, network, addr string) (net.Conn, error) { return tls.Dial(network, addr, cfg) }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Conn.Close()
	wantEcho(t, l.Conn)
	<-asked
}

func TestProxyAddr(t *testing.T) {
	for in, want := range map[string]string{
		"http://proxy.test":          "proxy.test:80",
		"https://u:p@proxy.test":     "proxy.test:443",
		"socks5://proxy.test":        "proxy.test:1080",
		"socks5h://proxy.test":       "proxy.test:1080",
		"http://proxy.test:3128/x":   "proxy.test:3128",
		"http://[::1]:3128":          "[::1]:3128",
		"http://[::1]":               "[::1]:80",
		"http://b\u00fccher.test:81": "xn--bcher-kva.test:81",
	} {
		if got := ProxyAddr(proxyURL(t, in)); got != want {
			t.Errorf("ProxyAddr(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestProxyAuthorization(t *testing.T) {
	for in, want := range map[string]string{
		"http://proxy.test":             "",
		"http://user@proxy.test":        "Basic dXNlcjo=",
		"http://user:p%40ss@proxy.test": "Basic dXNlcjpwQHNz",
	} {
		if got := ProxyAuthorization(proxyURL(t, in)); got != want {
			t.Errorf("ProxyAuthorization(%s) = %q, want %q", in, got, want)
		}
	}
	if got := ProxyAuthorization(nil); got != "" {
		t.Errorf("without a proxy it is %q", got)
	}
}
