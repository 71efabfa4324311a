package dialer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"testing"
	"time"

	"example.com/connwise/health"
)

func TestTLSLink(t *testing.T) {
	cfg := serverTLS(t)
	cfg.NextProtos = []string{"h2", "http/1.1"}
	p := newPeer(t, withTLS(cfg, echo))
	mine := clientTLS(t)
	mine.NextProtos = []string{"http/1.1"}
	l, err := (&Dialer{}).Dial(t.Context(), Route{Addr: p.addr, TLS: mine})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Conn.Close()
	if _, ok := l.Conn.(*health.TLSClient); !ok {
		t.Errorf("the link has a %T", l.Conn)
	}
	if l.TLS == nil || !l.TLS.HandshakeComplete || l.Proto != "http/1.1" || l.TLSTook <= 0 {
		t.Errorf("the link is %+v", l)
	}
	if mine.ServerName != "" {
		t.Errorf("the caller's configuration was changed to %q", mine.ServerName)
	}
	wantEcho(t, l.Conn)
	if v, err := health.Socket(l.Conn); v != health.Alive {
		t.Errorf("a look at the link gives %v, %v", v, err)
	}
}

func TestTLSServerName(t *testing.T) {
	asked := make(chan string, 1)
	cfg := serverTLS(t)
	cfg.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		asked <- h.ServerName
		return nil, nil
	}
	p := newPeer(t, withTLS(cfg, echo))
	d := &Dialer{Resolver: names{"origin.test": {"127.0.0.1"}}}
	for name, set := range map[string]string{"origin.test": "", "proxy.test": "proxy.test"} {
		mine := clientTLS(t)
		mine.ServerName = set
		l, err := d.Dial(t.Context(), Route{Addr: "origin.test:" + portOf(t, p.addr), TLS: mine})
		if err != nil {
			t.Fatal(err)
		}
		l.Conn.Close()
		if got := <-asked; got != name {
			t.Errorf("with ServerName %q the server is asked for %q", set, got)
		}
	}
}

// Whatever fails, the certificate is verified, and the error keeps its type.
func TestTLSVerification(t *testing.T) {
	p := newPeer(t, withTLS(serverTLS(t), echo))
	d := &Dialer{Resolver: names{"other.test": {"127.0.0.1"}}}

	_, err := d.Dial(t.Context(), Route{Addr: p.addr, TLS: &tls.Config{}})
	e := wantError(t, err, StageTLS)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("of an unknown authority: %v", err)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok || e.Addr != p.addr || e.Timeout() {
		t.Errorf("of an unknown authority: %v", err)
	}
	_, err = d.Dial(t.Context(), Route{Addr: "other.test:" + portOf(t, p.addr), TLS: clientTLS(t)})
	wantError(t, err, StageTLS)
	if _, ok := errors.AsType[x509.HostnameError](err); !ok {
		t.Errorf("of a wrong name: %v", err)
	}
}

func TestTLSWithAPlainServer(t *testing.T) {
	p := newPeer(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		io.Copy(io.Discard, c)
	})
	_, err := (&Dialer{}).Dial(t.Context(), Route{Addr: p.addr, TLS: clientTLS(t)})
	wantError(t, err, StageTLS)
	if !errors.Is(err, http.ErrSchemeMismatch) {
		t.Errorf("error is %v", err)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); !ok {
		t.Errorf("error %v has no tls.RecordHeaderError", err)
	}
	other := newPeer(t, func(c net.Conn) {
		io.WriteString(c, "220 mail.test ESMTP\r\n")
		io.Copy(io.Discard, c)
	})
	_, err = (&Dialer{}).Dial(t.Context(), Route{Addr: other.addr, TLS: clientTLS(t)})
	wantError(t, err, StageTLS)
	if errors.Is(err, http.ErrSchemeMismatch) {
		t.Errorf("of a mail server the error is %v", err)
	}
}

func TestTLSThatFailsOrHangs(t *testing.T) {
	cause := errors.New("enough")
	tests := []struct {
		name    string
		d       Dialer
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		reason  error
		timeout bool
	}{
		{"limit", Dialer{TLSTimeout: 100 * time.Millisecond}, plain, os.ErrDeadlineExceeded, true},
		{"deadline", Dialer{}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 100*time.Millisecond)
		}, context.DeadlineExceeded, true},
		{"cancelled", Dialer{TLSTimeout: -1}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
			return ctx, func() { cancel(nil) }
		}, cause, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			closed := make(chan time.Time, 1)
			p := newPeer(t, silent(closed))
			ctx, cancel := tt.ctx(t.Context())
			defer cancel()
			start := time.Now()
			_, err := tt.d.Dial(ctx, Route{Addr: p.addr, TLS: clientTLS(t)})
			end := time.Now()
			wantSoon(t, "Dial", start, end, 2*time.Second)
			e := wantError(t, err, StageTLS)
			if !errors.Is(err, tt.reason) || e.Timeout() != tt.timeout {
				t.Errorf("error is %v, a timeout: %v", err, e.Timeout())
			}
			wantEvent(t, "the connection is closed", closed)
		})
	}
	t.Run("reset", func(t *testing.T) {
		p := newPeer(t, func(c net.Conn) {
			c.Read(make([]byte, 1))
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		})
		_, err := (&Dialer{}).Dial(t.Context(), Route{Addr: p.addr, TLS: clientTLS(t)})
		if e := wantError(t, err, StageTLS); e.Timeout() {
			t.Errorf("error %v is a timeout", err)
		}
	})
}

func TestTLSTrace(t *testing.T) {
	p := newPeer(t, withTLS(serverTLS(t), echo))
	var started int
	var done []error
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		TLSHandshakeStart: func() { started++ },
		TLSHandshakeDone: func(cs tls.ConnectionState, err error) {
			if cs.HandshakeComplete != (err == nil) {
				t.Errorf("the hook gets %+v, %v", cs, err)
			}
			done = append(done, err)
		},
	})
	l, err := (&Dialer{}).Dial(ctx, Route{Addr: p.addr, TLS: clientTLS(t)})
	if err != nil {
		t.Fatal(err)
	}
	l.Conn.Close()
	_, err = (&Dialer{}).Dial(ctx, Route{Addr: p.addr, TLS: &tls.Config{}})
	if started != 2 || len(done) != 2 || done[0] != nil || !errors.Is(err, done[1]) {
		t.Errorf("hooks: %d, %v; Dial gives %v", started, done, err)
	}
}

func TestConnectTLS(t *testing.T) {
	cfg := serverTLS(t)
	cfg.NextProtos = []string{"http/1.1"}
	p := newPeer(t, withTLS(cfg, echo))
	mine := clientTLS(t)
	mine.ServerName, mine.NextProtos = "origin.test", []string{"http/1.1"}
	hooks := map[string]Hook{
		"handshake made": func(ctx context.Context, network, addr string) (net.Conn, error) {
			return (&tls.Dialer{Config: mine}).DialContext(ctx, network, addr)
		},
		"handshake not made": func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := net.Dial(network, addr)
			if err != nil {
				return nil, err
			}
			return tls.Client(c, mine), nil
		},
	}
	for name, hook := range hooks {
		t.Run(name, func(t *testing.T) {
			l, err := (&Dialer{}).Dial(t.Context(), Route{Addr: p.addr, TLS: &tls.Config{}, ConnectTLS: hook})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Conn.Close()
			if _, ok := l.Conn.(*tls.Conn); !ok || l.TLS == nil || l.Proto != "http/1.1" {
				t.Errorf("the link is %+v", l)
			}
			wantEcho(t, l.Conn)
		})
	}
	t.Run("no TLS of its own", func(t *testing.T) {
		hook := func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := hooks["handshake made"](ctx, network, addr)
			return struct{ net.Conn }{c}, err
		}
		l, err := (&Dialer{}).Dial(t.Context(), Route{Addr: p.addr, TLS: &tls.Config{}, ConnectTLS: hook})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Conn.Close()
		if l.TLS != nil || l.Proto != "" {
			t.Errorf("the link is %+v", l)
		}
	})
	t.Run("handshake fails", func(t *testing.T) {
		hook := func(_ context.Context, network, addr string) (net.Conn, error) {
			c, err := net.Dial(network, addr)
			if err != nil {
				return nil, err
			}
			return tls.Client(c, &tls.Config{ServerName: "origin.test"}), nil
		}
		_, err := (&Dialer{}).Dial(t.Context(), Route{Addr: p.addr, TLS: &tls.Config{}, ConnectTLS: hook})
		wantError(t, err, StageTLS)
	})
	t.Run("not for plain http", func(t *testing.T) {
		plain := newPeer(t, echo)
		l, err := (&Dialer{}).Dial(t.Context(), Route{Addr: plain.addr, ConnectTLS: hooks["handshake made"]})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Conn.Close()
		wantEcho(t, l.Conn)
	})
}
