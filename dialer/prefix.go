package dialer

import (
	"bufio"
	"net"

	"example.com/connwise/health"
)

// A prefixConn gives the bytes that came together with a proxy's answer before those that
// came after. A server that speaks first makes them; TLS servers don't.
type prefixConn struct {
	net.Conn
	prefix []byte
	probe  *health.Probe
}

// withPrefix returns c itself if br has read nothing beyond what was taken from it.
func withPrefix(c net.Conn, br *bufio.Reader) (net.Conn, error) {
	if br.Buffered() == 0 {
		return c, nil
	}
	b, err := br.Peek(br.Buffered())
	if err != nil {
		return nil, err
	}
	return &prefixConn{Conn: c, prefix: append([]byte(nil), b...), probe: health.NewProbe(c)}, nil
}

func (c *prefixConn) Read(p []byte) (int, error) {
	if len(c.prefix) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.prefix)
	c.prefix = c.prefix[n:]
	return n, nil
}

// Look is health's look; a prefix that wasn't read is surplus.
func (c *prefixConn) Look() (health.Verdict, error) {
	if len(c.prefix) > 0 {
		return health.Dead, health.ErrSurplus
	}
	return c.probe.Look()
}

// NetConn returns the connection to the proxy.
func (c *prefixConn) NetConn() net.Conn { return c.Conn }
