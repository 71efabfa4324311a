package pool

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"time"

	"example.com/connwise/dialer"
)

// defaultTLSTimeout is what the dialer has for its own handshakes.
const defaultTLSTimeout = 10 * time.Second

// DialTLSContext opens a guarded connection and makes the TLS handshake with
// GuardConfig.TLSClientConfig, within the Dialer's TLSTimeout (zero: 10 s). It returns a
// *tls.Conn, and is meant for http.Transport's DialTLSContext: that way the Guard knows what
// was agreed on, and refuses an HTTP/2 connection only if its peer has closed it.
// http.Transport ignores its own TLSClientConfig then, doesn't call this for an origin
// behind a proxy, and speaks HTTP/2 only with ForceAttemptHTTP2 set. The error is as
// DialContext's; a failed handshake is a *dialer.Error of StageTLS.
func (g *Guard) DialTLSContext(ctx context.Context, network, addr string) (net.Conn, error) {
	cfg, err := g.tlsConfig(addr)
	if err != nil {
		return nil, err
	}
	c, err := g.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	tc := tls.Client(c, cfg)
	if err := g.handshake(ctx, c, tc); err != nil {
		c.Close()
		return nil, &dialer.Error{Stage: dialer.StageTLS, Addr: addr, Err: err}
	}
	return tc, nil
}

func (g *Guard) tlsConfig(addr string) (*tls.Config, error) {
	cfg := g.cfg.TLSClientConfig.Clone()
	if cfg == nil {
		cfg = &tls.Config{}
	}
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, &dialer.Error{Stage: dialer.StageResolve, Addr: addr, Err: err}
		}
		cfg.ServerName = host
	}
	return cfg, nil
}

func (g *Guard) handshake(ctx context.Context, c *guardConn, tc *tls.Conn) error {
	inner := ctx
	if limit := cmp.Or(g.dialer.TLSTimeout, defaultTLSTimeout); limit > 0 {
		var cancel func()
		inner, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	start := time.Now()
	if err := tc.HandshakeContext(inner); err != nil {
		return err
	}
	c.secured(tc.ConnectionState().NegotiatedProtocol == "h2", start)
	return nil
}
