package h2

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2/hpack"

	"example.com/connwise/internal/wire"
)

const defaultUserAgent = "Go-http-client/2.0"

// errHeaderList says that the peer wouldn't take the request's header section.
var errHeaderList = errors.New("request header list larger than peer's advertised limit")

type field = hpack.HeaderField

// A fieldList is a header section that waits to be encoded. It's made in the caller's
// goroutine, as the request is the caller's.
type fieldList struct {
	list  []field
	agent bool // the caller has named the user agent
}

var fieldLists = sync.Pool{New: func() any { return &fieldList{list: make([]field, 0, 24)} }}

// A section is a fieldList that may have gone back to its pool.
type section struct {
	*fieldList
}

func newSection() section { return section{fieldLists.Get().(*fieldList)} }

func (s *section) drop() {
	if s.fieldList == nil {
		return
	}
	clear(s.list)
	s.list, s.agent = s.list[:0], false
	if cap(s.list) <= 256 {
		fieldLists.Put(s.fieldList)
	}
	s.fieldList = nil
}

// size is the section's length as the peer counts it (RFC 9113 section 6.5.2).
func (l *fieldList) size() (n int64) {
	for i := range l.list {
		n += int64(l.list[i].Size())
	}
	return n
}

// A fieldWriter makes a header section.
type fieldWriter struct {
	*fieldList
	trace *httptrace.ClientTrace // nil if it needn't be told of fields
}

func (w fieldWriter) field(name, value string) {
	w.list = append(w.list, field{Name: name, Value: value})
	if w.trace != nil {
		w.trace.WroteHeaderField(name, []string{value})
	}
}

// writeRequest appends r's header section. length is the body's, -1 if it isn't known.
func (w fieldWriter) writeRequest(r *wire.Request, length int64) error {
	host, err := checkRequest(r)
	if err != nil {
		return &wire.RequestError{Err: err}
	}
	t, err := targetOf(r, host)
	if err != nil {
		return &wire.RequestError{Err: err}
	}
	trailer, err := trailerNames(r.Trailer)
	if err != nil {
		return &wire.RequestError{Err: err}
	}
	w.field(":authority", host)
	w.field(":method", t.method)
	if t.path != "" {
		w.field(":path", t.path)
		w.field(":scheme", r.URL.Scheme)
	}
	if t.protocol != "" {
		w.field(":protocol", t.protocol)
	}
	if trailer != "" {
		w.field("trailer", trailer)
	}
	w.fields(r.Header)
	w.fields(r.Extra)
	if length > 0 || length == 0 && saysZero(r.Method) {
		w.field("content-length", strconv.FormatInt(length, 10))
	}
	if r.Gzip {
		w.field("accept-encoding", "gzip")
	}
	if !w.agent {
		w.field("user-agent", defaultUserAgent)
	}
	return nil
}

// checkRequest refuses what can't be said in HTTP/2, as net/http does, and returns the
// authority.
func checkRequest(r *wire.Request) (host string, err error) {
	if err := checkConnection(r.Header); err != nil {
		return "", err
	}
	if r.URL == nil {
		return "", errors.New("nil Request.URL")
	}
	if host = r.Host; host == "" {
		host = r.URL.Host
	}
	if host, err = httpguts.PunycodeHostPort(host); err != nil {
		return "", err
	}
	if !httpguts.ValidHostHeader(host) {
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

// trailerNames returns the names of the trailer fields for the "trailer" field.
func trailerNames(h http.Header) (string, error) {
	if len(h) == 0 {
		return "", nil
	}
	keys := make([]string, 0, len(h))
	for k := range h {
		k = http.CanonicalHeaderKey(k)
		switch k {
		case "Transfer-Encoding", "Trailer", "Content-Length":
			return "", fmt.Errorf("invalid Trailer key %q", k)
		}
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return strings.Join(keys, ","), nil
}

// fields appends h, without what other parts of the request say, or HTTP/2 has no use for.
func (w fieldWriter) fields(h http.Header) {
	for k, vv := range h {
		name := lower(k)
		switch name {
		case "host", "content-length", "connection", "proxy-connection", "transfer-encoding", "upgrade", "keep-alive", ":protocol":
			continue
		case "te":
			w.te(vv)
			continue
		case "user-agent":
			w.agent = true
			if len(vv) > 0 && vv[0] != "" {
				w.field(name, vv[0])
			}
			continue
		case "cookie":
			w.cookies(vv)
			continue
		}
		for _, v := range vv {
			w.field(name, v)
		}
	}
}

// te passes on the one value that HTTP/2 has a meaning for (RFC 9113 section 8.2.2).
func (w fieldWriter) te(vv []string) {
	if httpguts.HeaderValuesContainsToken(vv, "trailers") {
		w.field("te", "trailers")
	}
}

// cookies appends each cookie by itself, as they compress better so (RFC 9113 section 8.2.3).
func (w fieldWriter) cookies(vv []string) {
	for _, v := range vv {
		for v != "" {
			var one string
			one, v, _ = strings.Cut(v, ";")
			v = strings.TrimLeft(v, " ")
			if one != "" {
				w.field("cookie", one)
			}
		}
	}
}

// saysZero reports whether a Content-Length of zero is worth a field (RFC 9110 section 8.6).
func saysZero(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// writeTrailer appends the request's trailer section.
func (w fieldWriter) writeTrailer(h http.Header) {
	for k, vv := range h {
		for _, v := range vv {
			w.field(lower(k), v)
		}
	}
}

// lowered has the lower-case forms of names that requests often have, so that they needn't be
// made each time.
var lowered = func() map[string]string {
	m := make(map[string]string)
	for _, k := range []string{
		"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Access-Control-Request-Headers",
		"Access-Control-Request-Method", "Authorization", "Cache-Control", "Content-Disposition", "Content-Encoding",
		"Content-Language", "Content-Length", "Content-Type", "Cookie", "Date", "Expect", "Forwarded", "Host",
		"Idempotency-Key", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Origin",
		"Pragma", "Priority", "Proxy-Authorization", "Range", "Referer", "Te", "Traceparent", "Tracestate", "User-Agent",
		"Via", "X-Api-Key", "X-B3-Sampled", "X-B3-Spanid", "X-B3-Traceid", "X-Correlation-Id", "X-Forwarded-For",
		"X-Forwarded-Host", "X-Forwarded-Proto", "X-Idempotency-Key", "X-Request-Id", "X-Requested-With",
	} {
		m[k] = strings.ToLower(k)
	}
	return m
}()

func lower(k string) string {
	if s, ok := lowered[k]; ok {
		return s
	}
	return strings.ToLower(k)
}
