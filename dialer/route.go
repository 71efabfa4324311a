package dialer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// A Route is the way to one origin. Dial doesn't change what it refers to.
type Route struct {
	// Addr is the origin's "host:port".
	Addr string
	// TLS, if not nil, asks for TLS with the origin. It is copied for each dial; an empty
	// ServerName is Addr's host.
	TLS *tls.Config

	// Proxy is the proxy's URL: http, https, socks5 or socks5h. User info gives the
	// credentials. Nil: no proxy.
	Proxy *url.URL
	// Forward says that an http or https proxy shall forward single requests for plain
	// http: the link ends at the proxy, no CONNECT is sent, and requests have to be written
	// in absolute-form. It has no meaning with SOCKS5.
	Forward bool
	// ProxyHeader is sent with CONNECT. A Proxy-Authorization in it goes before the
	// credentials of the URL.
	ProxyHeader http.Header
	// GetProxyHeader, if not nil, gives the header in place of ProxyHeader.
	GetProxyHeader func(ctx context.Context, proxyURL *url.URL, target string) (http.Header, error)
	// OnProxyResponse, if not nil, is called with every final answer to CONNECT. Its error
	// ends the dial.
	OnProxyResponse func(ctx context.Context, proxyURL *url.URL, connectReq *http.Request, connectRes *http.Response) error
	// ProxyTLS is for TLS with an https proxy. Nil: a copy of TLS without its ServerName,
	// or the zero tls.Config. No protocol is offered to the proxy by ALPN.
	ProxyTLS *tls.Config

	// Connect, if not nil, is called to connect to the origin or the proxy, in place of
	// resolve and connect. The dial doesn't wait for it beyond its context and the limit; a
	// connection that comes later is closed.
	Connect Hook
	// ConnectTLS, if not nil, is called in place of connect and TLS, for an origin with TLS
	// and no proxy, or for an https proxy, as http.Transport's DialTLSContext. If it returns
	// a TLS connection whose handshake isn't done, it is done.
	ConnectTLS Hook

	// Passed, if not nil, is called when the proxy has connected to the origin, before TLS with
	// that. It is called on Dial's goroutine, once at most.
	Passed func()
}

// A Link is an opened way: what HTTP is spoken on.
type Link struct {
	// Conn is a *net.TCPConn as the kernel gave it or what a hook returned, or over it a
	// *health.TLSClient. Behind a proxy that sent more than its answer it may be a wrapper.
	Conn net.Conn
	// TLS is the state of TLS with the origin, nil without.
	TLS *tls.ConnectionState
	// Proto is the protocol that was agreed on by ALPN, empty if none was.
	Proto string

	// Addrs is how many addresses there were to connect to: those of the origin's name, or of
	// the proxy's. Zero if a hook made the connection.
	Addrs int

	// What each stage took; zero for one that wasn't there. A hook's time counts as
	// ConnectTook. TLSTook has both handshakes behind an https proxy.
	Resolve, ConnectTook, ProxyTook, TLSTook time.Duration

	addr   string   // what was connected to, as it was tried; empty if a hook connected
	failed []string // what had failed before this dial, if that was all there is
}

// Dial opens the way that r describes. Its error is always an *Error; when ctx has ended,
// errors.Is finds ctx's error and its cause. Dial blocks until ctx or the limits end,
// whatever r's functions do (a hook that doesn't return then has 50 ms more); only Control
// and the functions of a tls.Config have to return. It leaves no connection behind when it
// fails.
func (d *Dialer) Dial(ctx context.Context, r Route) (*Link, error) {
	if r.Proxy != nil && proxyPorts[r.Proxy.Scheme] == "" {
		err := fmt.Errorf("the proxy's scheme %q is not supported", r.Proxy.Scheme)
		return nil, &Error{Stage: StageProxy, Addr: r.Addr, Err: err}
	}
	l := &Link{}
	var err error
	if r.Proxy == nil {
		err = d.direct(ctx, &r, l)
	} else {
		err = d.proxied(ctx, &r, l)
	}
	if err != nil {
		return nil, err
	}
	if l.TLS != nil {
		l.Proto = l.TLS.NegotiatedProtocol
	}
	return l, nil
}

func (d *Dialer) direct(ctx context.Context, r *Route, l *Link) error {
	if r.TLS != nil && r.ConnectTLS != nil {
		cs, err := d.connectTLS(ctx, r, r.Addr, l)
		l.TLS = cs
		return err
	}
	if err := d.connectTo(ctx, r, r.Addr, l); err != nil {
		return err
	}
	err := d.originTLS(ctx, r, l)
	d.noteOpening(l, err)
	return err
}

// proxied reaches the proxy, and then the origin through it.
func (d *Dialer) proxied(ctx context.Context, r *Route, l *Link) error {
	if err := d.reach(ctx, r, l); err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			e.Err = &net.OpError{Op: "proxyconnect", Net: "tcp", Err: e.Err}
		}
		return err
	}
	if err := d.pass(ctx, r, l); err != nil {
		if proxyFailed(err) {
			d.noteOpening(l, err)
		}
		return &Error{Stage: StageProxy, Addr: r.Addr, Err: err}
	}
	d.noteOpening(l, nil) // TLS from here on is the origin's affair
	return d.originTLS(ctx, r, l)
}

// reach connects to the proxy, with TLS if that is how it is spoken to.
func (d *Dialer) reach(ctx context.Context, r *Route, l *Link) error {
	addr := ProxyAddr(r.Proxy)
	if r.Proxy.Scheme != "https" {
		return d.connectTo(ctx, r, addr, l)
	}
	if r.ConnectTLS != nil {
		_, err := d.connectTLS(ctx, r, addr, l)
		return err
	}
	if err := d.connectTo(ctx, r, addr, l); err != nil {
		return err
	}
	_, err := d.addTLS(ctx, proxyTLS(r), addr, l)
	if err != nil {
		d.noteOpening(l, err)
	}
	return err
}

// pass makes the proxy connect to the origin.
func (d *Dialer) pass(ctx context.Context, r *Route, l *Link) (err error) {
	start := time.Now()
	defer func() { l.ProxyTook = time.Since(start) }()
	switch r.Proxy.Scheme {
	case "socks5", "socks5h":
		return d.socks(ctx, l.Conn, r)
	}
	if r.Forward {
		return nil
	}
	l.Conn, err = d.tunnel(ctx, l.Conn, r)
	return err
}

// proxyTLS returns the configuration for TLS with the proxy, without the protocols meant
// for the origin: CONNECT is spoken in HTTP/1.1 here.
func proxyTLS(r *Route) *tls.Config {
	cfg := r.ProxyTLS.Clone()
	if cfg == nil {
		if cfg = r.TLS.Clone(); cfg == nil {
			return &tls.Config{}
		}
		cfg.ServerName = ""
	}
	cfg.NextProtos = nil
	return cfg
}

func (d *Dialer) connectTo(ctx context.Context, r *Route, addr string, l *Link) (err error) {
	if r.Connect == nil {
		l.Conn, err = d.open(ctx, "tcp", addr, l)
		return err
	}
	start := time.Now()
	l.Conn, err = d.byHook(ctx, r.Connect, addr)
	l.ConnectTook = time.Since(start)
	return err
}

// connectTLS calls the hook that makes TLS connections, and looks what it returned.
func (d *Dialer) connectTLS(ctx context.Context, r *Route, addr string, l *Link) (*tls.ConnectionState, error) {
	start := time.Now()
	c, err := d.byHook(ctx, r.ConnectTLS, addr)
	l.ConnectTook = time.Since(start)
	if err != nil {
		return nil, err
	}
	l.Conn = c
	h, ok := c.(handshaker)
	if !ok {
		return nil, nil
	}
	start = time.Now()
	cs, err := d.handshake(ctx, h)
	l.TLSTook += time.Since(start)
	if err != nil {
		go c.Close() // it may wait for a peer that doesn't take the close_notify
		return nil, &Error{Stage: StageTLS, Addr: addr, Err: err}
	}
	return cs, nil
}

func (d *Dialer) originTLS(ctx context.Context, r *Route, l *Link) (err error) {
	if r.TLS != nil {
		l.TLS, err = d.addTLS(ctx, r.TLS, r.Addr, l)
	}
	return err
}

func (d *Dialer) addTLS(ctx context.Context, cfg *tls.Config, addr string, l *Link) (*tls.ConnectionState, error) {
	start := time.Now()
	c, cs, err := d.startTLS(ctx, l.Conn, cfg, addr)
	l.TLSTook += time.Since(start)
	if err != nil {
		return nil, &Error{Stage: StageTLS, Addr: addr, Err: err}
	}
	l.Conn = c
	return cs, nil
}
