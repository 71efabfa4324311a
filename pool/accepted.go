package pool

import (
	"crypto/tls"
	"net"

	"example.com/connwise/dialer"
)

// Accepted returns how many bytes the network has accepted of what was written to c, if c is
// a connection of a Guard or of dialer.Dialer.DialContext, or TLS over one. During a Write it
// is never too low: two equal values prove that no request was written in between, nor a part
// of one. (A Guard leaves out the alert with which TLS says goodbye.) With other connections
// ok is false; so it is with wrappers, which may hold bytes back.
func Accepted(c net.Conn) (n int64, ok bool) {
	for range maxTLS {
		switch own := c.(type) {
		case *guardConn:
			return own.accepted.Load(), true
		case *dialer.Conn:
			return own.BytesWritten(), true
		case *tls.Conn:
			c = own.NetConn()
		default:
			return 0, false
		}
	}
	return 0, false
}

// maxTLS is how many layers of TLS are looked through: an https proxy's and the origin's.
const maxTLS = 2 + 1
