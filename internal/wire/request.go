package wire

import "net/http"

// A Request is an http.Request and how it goes on the wire.
type Request struct {
	*http.Request
	// Proxied asks for the absolute form of the target (RFC 9112 section 3.2.2), for a
	// plain http request by a proxy.
	Proxied bool
	// Extra are further header fields (Proxy-Authorization). May be nil.
	Extra http.Header
	// Gzip asks for a gzip answer and decodes it transparently.
	Gzip bool
	// Close sends "Connection: close" and doesn't keep the connection.
	Close bool
	// Small, when not nil, is the whole body, which the caller has taken from an
	// in-memory body. Request.Body is then neither read nor closed.
	Small []byte
}
