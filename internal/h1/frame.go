package h1

import (
	"fmt"
	"net/http"

	"example.com/connwise/internal/wire"
)

// A delimiter says how the end of a request's body is marked (RFC 9112 section 6).
type delimiter uint8

const (
	noBody    delimiter = iota
	sized               // by Content-Length
	chunked             // by Transfer-Encoding: chunked
	unbounded           // by nothing: what follows a CONNECT is no message body
)

// A framing is how a request's body goes on the wire.
type framing struct {
	by       delimiter
	length   int64 // with sized
	sendZero bool  // with noBody: say Content-Length: 0
	probe    bool  // look first whether there is a body at all
}

// frame decides how r's body is delimited. It reads nothing.
func frame(r *wire.Request) (framing, error) {
	chunk := len(r.TransferEncoding) > 0 && r.TransferEncoding[0] == "chunked"
	length, err := wire.BodyLength(r)
	if err != nil {
		return framing{}, err
	}
	switch {
	case chunk && hasBody(r):
		return framing{by: chunked}, nil
	case length > 0:
		return framing{by: sized, length: length}, nil
	case length == 0:
		return framing{by: noBody, sendZero: sendsZero(r)}, nil
	case r.Method == http.MethodConnect:
		return framing{by: unbounded}, nil
	case len(r.TransferEncoding) > 0:
		// Its bytes would be taken for the next request (RFC 9112 section 6.3).
		return framing{}, &wire.RequestError{Err: fmt.Errorf("a body of unknown length with TransferEncoding %q", r.TransferEncoding)}
	}
	return framing{by: chunked, probe: usuallyLacksBody(r.Method)}, nil
}

// hasBody reports whether there is a body, of any length.
func hasBody(r *wire.Request) bool { return r.Small != nil || r.Body != nil }

// sendsZero reports whether the absence of a body is worth a Content-Length: 0, as
// servers expect with these methods (RFC 9110 section 8.6).
func sendsZero(r *wire.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return true
	case "", http.MethodGet, http.MethodHead:
		return false
	}
	return hasBody(r) && len(r.TransferEncoding) == 1 && r.TransferEncoding[0] == "identity"
}

// usuallyLacksBody names the methods with which a chunked body, even an empty one,
// confuses servers. A body of unknown length is then probed: most are empty.
func usuallyLacksBody(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions, "PROPFIND", "SEARCH":
		return true
	}
	return false
}
