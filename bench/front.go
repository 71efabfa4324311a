package bench

import (
	"crypto/x509"
	"net/url"

	"example.com/connwise/internal/peer"
)

// listenBehind starts the round's server, and the row's proxy in front of it.
func (r *rig) listenBehind(c *peer.Child, w row, f faults) error {
	f.idle = 0 // is the proxy's
	var err error
	if r.peer, err = listen(c, protoNamed("h1"), f); err != nil {
		return err
	}
	r.asked = w.asked
	r.asked.Origin = r.peer.addr()
	if r.front, err = w.proxy.Start(r.asked); err != nil {
		return err
	}
	r.dials = new(dials)
	r.urls = []*url.URL{r.proto.url(r.front.Addr())}
	return nil
}

// roots are what clients have to trust; nil where there is no TLS.
func (r *rig) roots(c *peer.Child) *x509.CertPool {
	switch {
	case r.front != nil:
		return r.front.Roots()
	case r.proto.tls:
		return c.Roots()
	}
	return nil
}

// closeFront ends the proxy, if there is one, so that nothing is executed any more that a
// client has given up.
func (r *rig) closeFront() error {
	if r.front == nil {
		return nil
	}
	return r.front.Close()
}
