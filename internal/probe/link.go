package probe

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/health"
)

// maxAnswer bounds what is read of one answer, head and body, in bytes.
const maxAnswer = 1 << 20

var errTooLong = fmt.Errorf("the answer is longer than %d bytes: choose a shorter one, or the method HEAD", maxAnswer)

// A link is a connection of the probe's. One goroutine uses it.
type link struct {
	wire *wire
	rw   net.Conn  // the wire, or the TLS layer over it
	tls  *tls.Conn // nil without TLS
	br   *bufio.Reader
	room int64         // bytes that may still be read for what is under way
	rtt  time.Duration // that connecting took

	linger time.Duration // how long the end is waited for behind the first word of it
	mask   mask
}

// A wire is a socket that remembers when bytes came last, and how reading ended. By that a
// close_notify is told from a FIN: crypto/tls makes the same io.EOF of both.
type wire struct {
	net.Conn
	last time.Time // of the last Read that returned bytes
	end  error     // how it ended; nil: it hasn't
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.last = time.Now()
	}
	if err != nil && !isTimeout(err) && w.end == nil {
		w.end = err
	}
	return n, err
}

// Write notes a RST: a socket tells of it once, to whoever asks first, and then looks as if a
// FIN had come.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if health.CauseOf(err) == health.CauseReset && w.end == nil {
		w.end = err
	}
	return n, err
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// dial opens a link that offers alpn in its handshake; with none there is no TLS.
func (p *Probe) dial(ctx context.Context, alpn []string) (*link, error) {
	d := dialer.Dialer{
		ResolveTimeout: p.opt.Timeout, ConnectTimeout: p.opt.Timeout,
		KeepAlive: net.KeepAliveConfig{Idle: -1},
	}
	start := time.Now()
	nc, err := d.DialContext(ctx, "tcp", p.addr)
	if err != nil {
		return nil, err
	}
	l := &link{wire: &wire{Conn: nc}, rtt: time.Since(start), linger: p.linger, mask: p.mask}
	l.rw = l.wire
	if len(alpn) > 0 {
		if err := p.startTLS(ctx, l, alpn); err != nil {
			_ = nc.Close()
			return nil, err
		}
	}
	l.br = bufio.NewReader(metered{l})
	return l, nil
}

func (p *Probe) startTLS(ctx context.Context, l *link, alpn []string) error {
	ctx, cancel := context.WithTimeout(ctx, p.opt.Timeout)
	defer cancel()
	l.tls = tls.Client(l.wire, &tls.Config{
		ServerName: p.url.Hostname(), RootCAs: p.opt.RootCAs, InsecureSkipVerify: p.opt.Insecure, NextProtos: alpn,
	})
	l.rw = l.tls
	if err := l.tls.HandshakeContext(ctx); err != nil {
		return &dialer.Error{Stage: dialer.StageTLS, Addr: p.addr, Err: err}
	}
	return nil
}

// alpn is what the server has chosen.
func (l *link) alpn() string {
	if l.tls == nil {
		return ""
	}
	return l.tls.ConnectionState().NegotiatedProtocol
}

// metered ends what a peer would have us read without end.
type metered struct{ l *link }

func (m metered) Read(p []byte) (int, error) {
	if m.l.room <= 0 {
		return 0, errTooLong
	}
	n, err := m.l.rw.Read(p[:min(int64(len(p)), m.l.room)])
	m.l.room -= int64(n)
	return n, err
}

// allow lets the peer send so many bytes more, by until and as long as ctx lasts. The
// function that it returns ends ctx's part.
func (l *link) allow(ctx context.Context, bytes int64, until time.Time) (done func() bool) {
	l.room = bytes
	_ = l.wire.SetDeadline(until)
	return context.AfterFunc(ctx, func() { _ = l.wire.SetDeadline(time.Unix(1, 0)) })
}

// word names how the connection ended, for an error of reading from it: one of How's words,
// or none if the peer did not end it.
func (l *link) word(err error) string {
	switch {
	case l.wire.end == nil && l.tls != nil && err == io.EOF:
		return wordNotify
	case l.wire.end == io.EOF:
		return wordFIN
	case l.wire.end != nil:
		return wordReset
	case l.tls != nil && isAlert(err):
		return wordAlert
	}
	return ""
}

// isAlert tells a fatal TLS alert of the peer's.
func isAlert(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

func (l *link) Close() error { return l.rw.Close() }
