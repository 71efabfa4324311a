package wire

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

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
	// Confirm asks an HTTP/1.1 peer for a sign of life before the body is at risk: the head has
	// "Expect: 100-continue", whether or not Header says so, and the body waits for the peer's
	// word, or for as long as that may take (RFC 9110 section 10.1.1). It means nothing where
	// there is no body, and with HTTP/2.
	Confirm bool
	// ReadTimeout is how long the answer's head may take once the whole request has been
	// written, and then each Read of its body, in place of what the connection's Options say for
	// both. Negative: no limit. Zero: as they say.
	ReadTimeout time.Duration
	// Look asks an HTTP/1.1 connection to look at itself, as its h1.Conn.LookBy has it, as the
	// last thing before the first byte. If something has arrived the error is ErrStale, and
	// Request.Body isn't closed. It must not be set where LookBy returned false.
	Look bool
	// Small, when not nil, is the whole body, which the caller has taken from an
	// in-memory body. Request.Body is then neither read nor closed.
	Small []byte
}

// ReadLimit is a limit on reading the answer for which configured is what Options say. Zero: none.
func (r *Request) ReadLimit(configured time.Duration) time.Duration {
	if r.ReadTimeout == 0 {
		return configured
	}
	return max(r.ReadTimeout, 0)
}

// MaxInterim is how many interim (1xx) answers to a request may come that no hook is given.
const MaxInterim = 1000

// Authority returns whom the request is for, as Host or :authority says it: in ASCII, and without
// the zone of an IPv6 address (RFC 6874 section 4). valid tells whether it can be said so. The
// error is a *RequestError.
func (r *Request) Authority() (host string, valid bool, err error) {
	if host = r.Host; host == "" {
		if r.URL == nil {
			return "", false, &RequestError{errors.New("no Host and no URL")}
		}
		host = r.URL.Host
	}
	if host, err = httpguts.PunycodeHostPort(host); err != nil {
		return "", false, &RequestError{err}
	}
	return withoutZone(host), httpguts.ValidHostHeader(host), nil
}

func withoutZone(host string) string {
	if !strings.HasPrefix(host, "[") {
		return host
	}
	end := strings.LastIndexByte(host, ']')
	if end < 0 {
		return host
	}
	zone := strings.LastIndexByte(host[:end], '%')
	if zone < 0 {
		return host
	}
	return host[:zone] + host[end:]
}

// SaysClose reports whether the request ends the connection's reuse.
func (r *Request) SaysClose() bool {
	return r.Close || r.Request.Close || httpguts.HeaderValuesContainsToken(r.Header["Connection"], "close")
}

// TrailerKeys returns the names of the trailer fields, canonical and sorted. The error is a
// *RequestError.
func (r *Request) TrailerKeys() ([]string, error) {
	if len(r.Trailer) == 0 {
		return nil, nil
	}
	keys := make([]string, 0, len(r.Trailer))
	for k := range r.Trailer {
		k = http.CanonicalHeaderKey(k)
		if DelimitsMessage(k) || !httpguts.ValidHeaderFieldName(k) {
			return nil, &RequestError{fmt.Errorf("invalid Trailer key %q", k)}
		}
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys, nil
}

// DelimitsMessage names the fields by which a message is delimited; no caller may set them by
// hand (RFC 9110 section 6.5.1 forbids them in trailers).
func DelimitsMessage(canonical string) bool {
	switch canonical {
	case "Content-Length", "Transfer-Encoding", "Trailer":
		return true
	}
	return false
}
