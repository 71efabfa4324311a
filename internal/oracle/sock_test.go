package oracle

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// A sock is a connection's socket at the peer. It notes how it ends.
type sock struct {
	*net.TCPConn
	link *link
}

// Close closes the socket. Unless the client has closed already, what it sends is answered by
// a reset, which may take away what was sent to it.
func (s *sock) Close() error {
	s.link.noteCut()
	return s.TCPConn.Close()
}

// Reset closes the socket by a reset.
func (s *sock) Reset() {
	s.link.noteCut()
	_ = s.SetLinger(0)
	_ = s.TCPConn.Close()
}

// finish sends a FIN and reads until the client closes too.
func (s *sock) finish() {
	_ = s.CloseWrite()
	s.drain(s)
}

// drain reads and drops what comes on r, this connection or TLS over it, until the client's end.
// Whatever it reads is no part of a request that has arrived, or of one that is lost in any case.
func (s *sock) drain(r io.Reader) {
	_ = s.SetReadDeadline(time.Now().Add(lingerTime))
	var b [4 << 10]byte
	for {
		n, err := r.Read(b[:])
		if n > 0 {
			s.link.noteLoose()
		}
		if err != nil {
			if isEnd(err) {
				s.link.noteEnd()
			}
			return
		}
	}
}

// isEnd tells whether Read has returned everything that the other side has sent. A TLS record
// that has come in part is nothing that anybody could read.
func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// shut closes a connection, that may be TLS over s, in the given style.
func (s *sock) shut(nc net.Conn, how style) {
	t, secure := nc.(*tls.Conn)
	switch how {
	case styleRST:
		s.Reset()
	case styleClose:
		_ = s.Close()
	default:
		if secure {
			_ = t.CloseWrite()
		}
		if how == styleFIN || !secure {
			_ = s.CloseWrite()
		}
		s.drain(nc)
	}
}
