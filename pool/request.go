package pool

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// checkRequest refuses, before anything is dialled or sent, what net/http's
// transport refuses.
func checkRequest(req *http.Request) error {
	switch {
	case req.URL == nil:
		return errors.New("http: nil Request.URL")
	case req.Header == nil:
		return errors.New("http: nil Request.Header")
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return fmt.Errorf("http: unsupported protocol scheme %q", req.URL.Scheme)
	case req.Method != "" && !validMethod(req.Method):
		return fmt.Errorf("http: invalid method %q", req.Method)
	case req.URL.Host == "":
		return errors.New("http: no Host in request URL")
	}
	if bad := invalidField(req.Header, req.Method == http.MethodConnect); bad != "" {
		return fmt.Errorf("http: invalid header %s", bad)
	}
	if bad := invalidField(req.Trailer, false); bad != "" {
		return fmt.Errorf("http: invalid trailer %s", bad)
	}
	return nil
}

// validMethod: RFC 9110 section 9.1, method = token.
func validMethod(m string) bool {
	return m != "" && strings.IndexFunc(m, func(r rune) bool { return !httpguts.IsTokenRune(r) }) == -1
}

// invalidField names the first field that can't be sent. A value isn't repeated: it
// may be a secret. With connect, ":protocol" can be: it makes an extended CONNECT (RFC 8441
// section 4), as in net/http.
func invalidField(h http.Header, connect bool) string {
	for name, values := range h {
		if !(connect && name == ":protocol") && !httpguts.ValidHeaderFieldName(name) {
			return fmt.Sprintf("field name %q", name)
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return fmt.Sprintf("field value for %q", name)
			}
		}
	}
	return ""
}

// wantsGzip tells whether to ask for gzip on the caller's behalf, and so to decode it.
// Not for a Range, of which a part of a compressed answer would come back
// (golang/go#8923), nor for HEAD (golang/go#5522).
func wantsGzip(req *http.Request) bool {
	return req.Method != http.MethodHead && len(req.Header["Accept-Encoding"]) == 0 && len(req.Header["Range"]) == 0
}

// switchesProtocol tells whether the request asks for another protocol (RFC 9110
// section 7.8), where "Connection: close" would contradict "Connection: upgrade".
func switchesProtocol(h http.Header) bool {
	return len(h["Upgrade"]) > 0 && httpguts.HeaderValuesContainsToken(h["Connection"], "Upgrade")
}
