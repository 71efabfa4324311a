package h2

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"example.com/connwise/internal/wire"
)

// checkRequest refuses what can't be said in HTTP/2, as net/http does, and returns the
// authority.
func checkRequest(r *wire.Request) (host string, err error) {
	if err := checkConnection(r.Header); err != nil {
		return "", err
	}
	if r.URL == nil {
		return "", errors.New("nil Request.URL")
	}
	host, valid, err := r.Authority()
	if err != nil {
		return "", err
	}
	if !valid {
		return "", errors.New("invalid Host header")
	}
	if err := checkFields("header", r.Header); err != nil {
		return "", err
	}
	if err := checkFields("header", r.Extra); err != nil {
		return "", err
	}
	return host, checkFields("trailer", r.Trailer)
}

// checkConnection refuses connection-specific fields that mean something; the others are left
// out (RFC 9113 section 8.2.2).
func checkConnection(h http.Header) error {
	if vv := h["Upgrade"]; len(vv) > 0 && vv[0] != "" && vv[0] != "chunked" {
		return fmt.Errorf("invalid Upgrade request header: %q", vv)
	}
	if vv := h["Transfer-Encoding"]; len(vv) > 1 || len(vv) == 1 && vv[0] != "" && vv[0] != "chunked" {
		return fmt.Errorf("invalid Transfer-Encoding request header: %q", vv)
	}
	if vv := h["Connection"]; len(vv) > 1 || len(vv) == 1 && vv[0] != "" && !strings.EqualFold(vv[0], "close") && !strings.EqualFold(vv[0], "keep-alive") {
		return fmt.Errorf("invalid Connection request header: %q", vv)
	}
	return nil
}

// checkFields refuses names and values that aren't valid. Values aren't quoted: they may be
// secrets.
func checkFields(kind string, h http.Header) error {
	for k, vv := range h {
		if !httpguts.ValidHeaderFieldName(k) && k != ":protocol" {
			return fmt.Errorf("invalid HTTP %s name %q", kind, k)
		}
		for _, v := range vv {
			if !httpguts.ValidHeaderFieldValue(v) {
				return fmt.Errorf("invalid HTTP %s value for %q", kind, k)
			}
		}
	}
	return nil
}

// A target is what a request's pseudo-header fields say (RFC 9113 section 8.3.1).
type target struct {
	method, path string // path is empty with a plain CONNECT
	protocol     string // of an extended CONNECT (RFC 8441 section 4)
}

func targetOf(r *wire.Request, host string) (t target, err error) {
	if t.method = r.Method; t.method == "" {
		t.method = http.MethodGet
	}
	if !httpguts.ValidHeaderFieldName(t.method) { // both are tokens
		return t, errors.New("invalid method")
	}
	if vv := r.Header[":protocol"]; len(vv) > 0 {
		t.protocol = vv[0]
	}
	if t.method == http.MethodConnect && t.protocol == "" {
		return t, nil
	}
	if t.method != http.MethodConnect && t.protocol != "" {
		return t, errors.New("invalid :protocol header in non-CONNECT request")
	}
	t.path = r.URL.RequestURI()
	if !validPath(t.path) {
		t.path = strings.TrimPrefix(t.path, r.URL.Scheme+"://"+host)
	}
	if !validPath(t.path) {
		return t, fmt.Errorf("invalid request :path %q", r.URL.RequestURI())
	}
	return t, nil
}

func validPath(p string) bool { return strings.HasPrefix(p, "/") || p == "*" }
