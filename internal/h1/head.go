package h1

import (
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"example.com/connwise/internal/wire"

	"golang.org/x/net/http/httpguts"
)

const defaultUserAgent = "Go-http-client/1.1"

// A headWriter appends a request's head to buf and tells a trace of its fields.
type headWriter struct {
	buf   []byte
	trace *httptrace.ClientTrace
}

// appendHead appends r's head, up to and with the empty line, to buf.
func appendHead(buf []byte, r *wire.Request, f framing, trace *httptrace.ClientTrace) ([]byte, error) {
	if trace != nil && trace.WroteHeaderField == nil {
		trace = nil
	}
	w := headWriter{buf, trace}
	var room [32]string
	keys := sortedKeys(room[:0], r.Header) // few: to look through them is cheaper than to ask the map
	host, err := hostField(r)
	if err != nil {
		return buf, err
	}
	if slices.Contains(keys, ":protocol") && len(r.Header[":protocol"]) > 0 {
		return buf, &wire.RequestError{Err: errors.New("extended CONNECT needs HTTP/2, which isn't spoken with this host")}
	}
	if err := w.requestLine(r, host); err != nil {
		return buf, err
	}
	w.field("Host", host)
	w.userAgent(r.Header, slices.Contains(keys, "User-Agent"))
	if err := w.connection(r, f); err != nil {
		return buf, err
	}
	w.fields(r.Header, keys)
	if r.Gzip {
		w.field("Accept-Encoding", "gzip")
	}
	if addsExpect(r, f) {
		w.field("Expect", "100-continue")
	}
	w.fields(r.Extra, sortedKeys(room[:0], r.Extra))
	w.buf = append(w.buf, "\r\n"...)
	return w.buf, nil
}

// hostField returns the Host field's value, empty if it isn't valid.
func hostField(r *wire.Request) (string, error) {
	host, valid, err := r.Authority()
	switch {
	case err != nil:
		return "", err
	case !valid && r.Proxied:
		return "", &wire.RequestError{Err: errors.New("http: invalid Host header")}
	case !valid:
		// People name Unix sockets so. An empty Host is valid (RFC 9112 section 3.2).
		return "", nil
	}
	return host, nil
}

func (w *headWriter) requestLine(r *wire.Request, host string) error {
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	if !httpguts.ValidHeaderFieldName(method) { // both are tokens
		return &wire.RequestError{Err: errors.New("invalid method")}
	}
	if r.URL == nil {
		return &wire.RequestError{Err: errors.New("nil Request.URL")}
	}
	target := requestTarget(r, host)
	if hasControl(target) {
		return &wire.RequestError{Err: errors.New("can't write control character in Request.URL")}
	}
	w.buf = append(w.buf, method...)
	w.buf = append(w.buf, ' ')
	w.buf = append(w.buf, target...)
	w.buf = append(w.buf, " HTTP/1.1\r\n"...)
	return nil
}

// requestTarget returns the target in the form that the request needs (RFC 9112
// section 3.2): origin, absolute or authority.
func requestTarget(r *wire.Request, host string) string {
	u := r.URL
	switch {
	case r.Proxied && u.Scheme != "" && u.Opaque == "":
		return u.Scheme + "://" + host + u.RequestURI()
	case r.Method == http.MethodConnect && u.Path == "":
		if u.Opaque != "" {
			return u.Opaque
		}
		return host
	}
	return u.RequestURI()
}

func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return true
		}
	}
	return false
}

// userAgent writes the default unless the caller named another; an empty one
// suppresses the field.
func (w *headWriter) userAgent(h http.Header, named bool) {
	ua := defaultUserAgent
	if named {
		ua = ""
		if vv := h["User-Agent"]; len(vv) > 0 {
			ua = vv[0]
		}
	}
	if ua != "" {
		w.field("User-Agent", ua)
	}
}

// connection writes the fields that delimit the message and the connection's use.
func (w *headWriter) connection(r *wire.Request, f framing) error {
	if (r.Close || r.Request.Close) && !httpguts.HeaderValuesContainsToken(r.Header["Connection"], "close") {
		w.field("Connection", "close")
	}
	switch {
	case f.by == sized:
		w.field("Content-Length", strconv.FormatInt(f.length, 10))
	case f.by == noBody && f.sendZero:
		w.field("Content-Length", "0")
	case f.by == chunked:
		w.field("Transfer-Encoding", "chunked")
		return w.announceTrailer(r)
	}
	return nil
}

func (w *headWriter) announceTrailer(r *wire.Request) error {
	keys, err := r.TrailerKeys()
	if err != nil || len(keys) == 0 {
		return err
	}
	w.line("Trailer", strings.Join(keys, ","))
	if w.trace != nil {
		w.trace.WroteHeaderField("Trailer", keys)
	}
	return nil
}

// fields writes h in the order of keys, which are its own, without what other fields of Request
// say. Names that aren't tokens are left out, as net/http does.
func (w *headWriter) fields(h http.Header, keys []string) {
	for _, k := range keys {
		if !httpguts.ValidHeaderFieldName(k) || derivedField(http.CanonicalHeaderKey(k)) {
			continue
		}
		for _, v := range h[k] {
			w.line(k, v)
		}
		if w.trace != nil {
			w.trace.WroteHeaderField(k, cleanValues(h[k]))
		}
	}
}

func (w *headWriter) field(k, v string) {
	w.line(k, v)
	if w.trace != nil {
		w.trace.WroteHeaderField(k, []string{cleanValue(v)})
	}
}

func (w *headWriter) line(k, v string) {
	w.buf = append(w.buf, k...)
	w.buf = append(w.buf, ": "...)
	w.buf = append(w.buf, cleanValue(v)...)
	w.buf = append(w.buf, "\r\n"...)
}

var noNewlines = strings.NewReplacer("\n", " ", "\r", " ")

// cleanValue returns v so that it stays on its line.
func cleanValue(v string) string {
	if strings.IndexByte(v, '\n') >= 0 || strings.IndexByte(v, '\r') >= 0 {
		v = noNewlines.Replace(v)
	}
	return textproto.TrimString(v)
}

func cleanValues(vv []string) []string {
	out := make([]string, len(vv))
	for i, v := range vv {
		out[i] = cleanValue(v)
	}
	return out
}

func sortedKeys(keys []string, h http.Header) []string {
	for k := range h {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// derivedField names the fields that are made from other fields of the request. A
// second spelling of one of them would let two parsers see two messages.
func derivedField(canonical string) bool {
	return wire.DelimitsMessage(canonical) || canonical == "Host" || canonical == "User-Agent"
}
