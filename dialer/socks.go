package dialer

import (
	"context"
	"net"
	"net/url"

	"golang.org/x/net/proxy"
)

// socks asks the SOCKS5 proxy at the other end of c to connect to r.Addr. A name is sent
// as it is, for the proxy to resolve, with socks5 and socks5h alike, as net/http does. On
// failure c is closed.
func (d *Dialer) socks(ctx context.Context, c net.Conn, r *Route) error {
	inner, cancel := within(ctx, StageProxy, limit(d.ProxyTimeout, defaultProxyTimeout))
	defer cancel()
	stop := context.AfterFunc(inner, func() { c.Close() })
	tap := &socksTap{Conn: c}
	err := socksConnect(inner, tap, r)
	if !stop() && err == nil {
		err = inner.Err()
	}
	if err == nil {
		return nil
	}
	c.Close()
	if reply := tap.reply(); reply != 0 {
		err = &SOCKSError{Reply: reply, Err: err}
	}
	return because(ctx, inner, err)
}

func socksConnect(ctx context.Context, c net.Conn, r *Route) error {
	sd, err := proxy.SOCKS5("tcp", ProxyAddr(r.Proxy), socksAuth(r.Proxy.User), opened{c})
	if err != nil {
		return err
	}
	_, err = sd.(proxy.ContextDialer).DialContext(ctx, "tcp", r.Addr)
	return err
}

func socksAuth(u *url.Userinfo) *proxy.Auth {
	if u == nil {
		return nil
	}
	password, _ := u.Password()
	return &proxy.Auth{User: u.Username(), Password: password}
}

// opened gives a connection that is there already to x/net's dialer.
type opened struct{ c net.Conn }

func (o opened) Dial(string, string) (net.Conn, error) { return o.c, nil }

func (o opened) DialContext(context.Context, string, string) (net.Conn, error) { return o.c, nil }

// A socksTap remembers the first bytes that a SOCKS5 proxy sends: x/net puts the reply's
// code into words only. They are the chosen method (2 bytes), with user and password
// their result (2), and the reply, of which the second byte is the code.
type socksTap struct {
	net.Conn
	seen [6]byte
	n    int
}

func (t *socksTap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.n += copy(t.seen[t.n:], p[:n])
	return n, err
}

// reply returns the reply's code, zero if none came or it was a success.
func (t *socksTap) reply() byte {
	const version5, userPassword = 5, 2
	at := 2
	if t.seen[1] == userPassword {
		at = 4
	}
	if t.n < at+2 || t.seen[at] != version5 {
		return 0
	}
	return t.seen[at+1]
}
