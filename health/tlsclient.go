package health

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// A TLSClient is the client's end of a TLS connection that can be looked through:
// Look finds out what the TLS layer would make of the bytes that have arrived, without
// blocking and without losing one. Session tickets and key updates are processed on
// the way; they are no surplus.
//
// Look can see through the layer if the connection below is a *net.TCPConn, a
// *net.UnixConn, or another TLSClient of which that is true. Over any other connection it
// looks at the records only (see Probe), or returns Unknown if there is no socket: taking
// bytes past a wrapper, which may count or change them, would not be sound.
type TLSClient struct {
	conn  *tls.Conn
	raw   net.Conn
	below bottom     // the connection below conn
	quiet *quietConn // below, too; nil if it can't be read without blocking
	probe *Probe     // looks at records where quiet can't
	lag   *laggard   // keeps what the socket doesn't take; nil if that can't be done

	done atomic.Bool // the handshake is complete

	// What Look has taken out of the TLS layer, for the next Read: kept[from:to]. Not
	// guarded: Look and Read exclude each other.
	kept     [surplusHead]byte
	from, to uint8
}

// NewTLSClient returns a TLS client connection over raw. cfg is used as tls.Client uses
// it. The handshake is made by HandshakeContext, or by the first Read or Write.
func NewTLSClient(raw net.Conn, cfg *tls.Config) *TLSClient {
	c := &TLSClient{raw: raw}
	// A renegotiation is a handshake in the middle of a Read. It can't be done without
	// blocking, so there Look keeps out of the layer.
	if cfg == nil || cfg.Renegotiation == tls.RenegotiateNever {
		c.quiet = newQuietConn(raw)
	}
	if c.quiet != nil {
		c.below = c.quiet
		c.lag = newLaggard(c.quiet)
	} else {
		c.below = newEndConn(raw)
	}
	c.conn = tls.Client(c.below, cfg)
	if c.quiet == nil {
		c.probe = &Probe{}
		c.probe.bind(tlsOver{c.conn, raw})
	}
	return c
}

// tlsOver is how a Probe sees a TLSClient whose layer it can't look through.
type tlsOver struct {
	*tls.Conn
	raw net.Conn
}

func (t tlsOver) NetConn() net.Conn { return t.raw }

// Look takes one look through the TLS layer. A close_notify or a FIN is Dead with
// io.EOF (io.ErrUnexpectedEOF within a record; CauseOf tells the two apart), data is Dead
// with ErrSurplus and will be returned by the next Read, a failure of the layer is Dead with its error. A record of
// which only a part has come is Dead with ErrSurplus as well: it may be the start of
// data, and the safe guess costs no more than a new connection. Before the handshake
// Look returns Unknown.
//
// Look must not run at the same time as Read, or as another Look.
func (c *TLSClient) Look() (Verdict, error) {
	if !c.handshaked() {
		return Unknown, nil
	}
	if c.hasKept() {
		return Dead, surplus(c.kept[:c.to])
	}
	if c.quiet == nil {
		return c.probe.Look()
	}
	if idle, err := c.quiet.idle(); err != nil {
		return Dead, err
	} else if idle && !c.quiet.stuck.Load() {
		return Alive, nil
	}
	n, err := c.quiet.look(c.conn, c.kept[:])
	switch {
	case n > 0:
		c.from, c.to = 0, uint8(n)
		return Dead, surplus(c.kept[:n])
	case err == errWouldBlock && c.quiet.stuck.Load():
		return Dead, errStuck
	case err == errWouldBlock && c.quiet.midRecord():
		return Dead, ErrSurplus
	case err == errWouldBlock:
		return Alive, nil
	case err == nil:
		return Unknown, nil // no Read of a byte returns 0, nil
	}
	return Dead, endOf(c, err)
}

// hasKept reports whether Look has taken something that Read hasn't returned yet.
func (c *TLSClient) hasKept() bool { return c.from < c.to }

// handshaked reports whether the handshake is complete, without starting it.
func (c *TLSClient) handshaked() bool {
	if !c.done.Load() && c.conn.ConnectionState().HandshakeComplete {
		c.done.Store(true)
	}
	return c.done.Load()
}

// Read reads decrypted data, as tls.Conn's does.
func (c *TLSClient) Read(p []byte) (int, error) {
	if c.hasKept() && len(p) > 0 {
		n := copy(p, c.kept[c.from:c.to])
		c.from += uint8(n)
		return n, nil
	}
	return c.conn.Read(p)
}

// Truncated reports whether what Read took for the end was a FIN without a close_notify,
// which anyone on the way can send. A message that only the connection's end delimits is
// then to be taken as incomplete (RFC 9112 section 9.8).
func (c *TLSClient) Truncated() bool { return c.below.ended() }

// Write encrypts and sends p, as tls.Conn's does.
func (c *TLSClient) Write(p []byte) (int, error) { return c.conn.Write(p) }

// HandshakeContext makes the handshake if it isn't done. If ctx ends before, it closes
// the connection and returns ctx's error.
func (c *TLSClient) HandshakeContext(ctx context.Context) error {
	err := c.conn.HandshakeContext(ctx)
	if err == nil {
		c.done.Store(true)
	}
	return err
}

// Handshake is HandshakeContext without a context.
func (c *TLSClient) Handshake() error { return c.HandshakeContext(context.Background()) }

// ConnectionState returns what the handshake agreed on.
func (c *TLSClient) ConnectionState() tls.ConnectionState { return c.conn.ConnectionState() }

// TLS returns the TLS connection itself. After a Look that found data, the first bytes
// of the data are with the TLSClient and not there.
func (c *TLSClient) TLS() *tls.Conn { return c.conn }

// NetConn returns the connection below TLS, as it was given to NewTLSClient.
func (c *TLSClient) NetConn() net.Conn { return c.raw }

// CloseWrite sends a close_notify and ends the writing side of TLS.
func (c *TLSClient) CloseWrite() error { return c.conn.CloseWrite() }

// Close sends a close_notify and closes the connection. It doesn't wait for a peer that
// takes nothing, if Look can see through the layer (see TLSClient); else as long as
// tls.Conn does, 5 s.
func (c *TLSClient) Close() error {
	if c.quiet != nil {
		return c.quiet.close(c.conn)
	}
	return c.conn.Close()
}

// idle, readNow, writeNow and midRecord make c a source for TLS inside of it.

func (c *TLSClient) idle() (bool, error) {
	if c.hasKept() {
		return false, nil
	}
	return c.quiet.idle()
}

func (c *TLSClient) readNow(p []byte) (int, error) {
	if c.hasKept() {
		return c.Read(p)
	}
	return c.quiet.look(c.conn, p)
}

func (c *TLSClient) writeNow(p []byte) (int, error) {
	c.quiet.looking.Add(1)
	defer c.quiet.looking.Add(-1)
	return c.conn.Write(p)
}

func (c *TLSClient) midRecord() bool { return c.quiet.midRecord() }

// LocalAddr returns the local address.
func (c *TLSClient) LocalAddr() net.Addr { return c.raw.LocalAddr() }

// RemoteAddr returns the peer's address.
func (c *TLSClient) RemoteAddr() net.Addr { return c.raw.RemoteAddr() }

// SetDeadline sets the read and write deadlines. After a Write has timed out the
// connection is broken, as tls.Conn says.
func (c *TLSClient) SetDeadline(t time.Time) error { return c.conn.SetDeadline(t) }

// SetReadDeadline sets the read deadline.
func (c *TLSClient) SetReadDeadline(t time.Time) error { return c.conn.SetReadDeadline(t) }

// SetWriteDeadline sets the write deadline; see SetDeadline.
func (c *TLSClient) SetWriteDeadline(t time.Time) error { return c.conn.SetWriteDeadline(t) }

var (
	_ net.Conn = (*TLSClient)(nil)
	_ looker   = (*TLSClient)(nil)
)
