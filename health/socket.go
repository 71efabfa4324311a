package health

import (
	"crypto/tls"
	"net"
	"syscall"
)

// maxWrappers bounds the way from a connection down to its socket, in case that a
// wrapper's NetConn leads back to itself.
const maxWrappers = 8

// A looker can look at itself.
type looker interface{ Look() (Verdict, error) }

type unwrapper interface{ NetConn() net.Conn }

// A handshaker has a layer of its own between what it reads from the socket and what
// its Read returns: *tls.Conn, and other TLS stacks that were modelled on it.
type handshaker interface{ Handshake() error }

type tlsStater interface{ ConnectionState() tls.ConnectionState }

// socketOf finds the socket below c; nil if there is none. layer is the outermost
// connection on the way that has a layer of its own, nil if there is none.
func socketOf(c net.Conn) (rc syscall.RawConn, layer net.Conn) {
	for range maxWrappers {
		if _, ok := c.(handshaker); ok {
			if layer == nil {
				layer = c
			}
		} else if sc, ok := c.(syscall.Conn); ok {
			rc, err := sc.SyscallConn()
			if err != nil {
				return nil, layer
			}
			return rc, layer
		}
		u, ok := c.(unwrapper)
		if !ok {
			return nil, layer
		}
		if c = u.NetConn(); c == nil {
			return nil, layer
		}
	}
	return nil, layer
}
