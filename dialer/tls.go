package dialer

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"

	"example.com/connwise/health"
)

// A schemeError says that the server answered the handshake in plain HTTP.
type schemeError struct{ err tls.RecordHeaderError }

func (e *schemeError) Error() string   { return http.ErrSchemeMismatch.Error() }
func (e *schemeError) Unwrap() []error { return []error{http.ErrSchemeMismatch, e.err} }

// A handshaker is a TLS connection that a hook may return: *tls.Conn, *health.TLSClient.
type handshaker interface {
	net.Conn
	HandshakeContext(context.Context) error
	ConnectionState() tls.ConnectionState
}

// startTLS makes a TLS client connection over raw and its handshake. On failure raw is
// closed.
func (d *Dialer) startTLS(ctx context.Context, raw net.Conn, cfg *tls.Config, addr string) (*health.TLSClient, *tls.ConnectionState, error) {
	cfg, err := configFor(cfg, addr)
	if err != nil {
		raw.Close()
		return nil, nil, err
	}
	c := health.NewTLSClient(raw, cfg)
	cs, err := d.handshake(ctx, c)
	if err != nil {
		raw.Close() // and not c, which would try to send a close_notify
		return nil, nil, err
	}
	return c, cs, nil
}

// configFor returns a copy of cfg that names the server, which is addr's host if cfg
// doesn't say.
func configFor(cfg *tls.Config, addr string) (*tls.Config, error) {
	if cfg = cfg.Clone(); cfg == nil {
		cfg = &tls.Config{}
	}
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		cfg.ServerName = host
	}
	return cfg, nil
}

// handshake makes c's handshake and calls the trace's hooks around it, in the caller's
// goroutine. If ctx or the limit ends, c's connection is closed by HandshakeContext.
func (d *Dialer) handshake(ctx context.Context, c handshaker) (*tls.ConnectionState, error) {
	inner, cancel := within(ctx, StageTLS, limit(d.TLSTimeout, defaultTLSTimeout))
	defer cancel()
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	var cs tls.ConnectionState
	err := c.HandshakeContext(inner)
	if err == nil {
		cs = c.ConnectionState()
	} else {
		err = plainHTTP(because(ctx, inner, err))
	}
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(cs, err)
	}
	return &cs, err
}

// plainHTTP recognizes an answer in plain HTTP, as net/http does.
func plainHTTP(err error) error {
	e, ok := errors.AsType[tls.RecordHeaderError](err)
	if ok && string(e.RecordHeader[:]) == "HTTP/" {
		return &schemeError{e}
	}
	return err
}
