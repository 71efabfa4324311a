package h2

import (
	"errors"
	"net/http"
	"net/http/httptrace"
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
	trailer, err := r.TrailerKeys()
	if err != nil {
		return err
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
	if len(trailer) > 0 {
		w.field("trailer", strings.Join(trailer, ","))
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
