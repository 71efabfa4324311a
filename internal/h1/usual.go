package h1

import (
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Most answers' heads are of one form: HTTP/1.1, a final status, fields one line each, and
// Content-Length. Such a head is parsed here, out of the read buffer, with one string for all
// that it says. Whatever is in any way different is left to net/http's parser as it came: what
// this one takes it takes as net/http's does (FuzzUsual), so nothing hangs on which of the two
// it was. What is in a response keeps the memory of the whole head.

// Bounds of such a head.
const (
	maxUsualHead   = 16 << 10 // in bytes
	maxUsualFields = 32
)

// A usualHead is where the parts of a head are in its buffer.
type usualHead struct {
	b      []byte // from the status line on
	at     int32  // what has been parsed
	code   int
	status span // with its text
	fields [maxUsualFields]usualField
	n      int   // of fields
	length int64 // Content-Length; -1: there is none
	sized  bool  // an answer with that status has content
	loud   bool  // a field is there that an exchange heeds
}

type span struct{ from, to int32 }

type usualField struct{ name, value span }

// usual parses the head that is at the front of the read buffer, if it is all there and of
// the usual form, and takes it out of the buffer. It returns nil if it isn't.
func (x *Exchange) usual() *http.Response {
	if m := x.req.Method; m == http.MethodHead || m == http.MethodConnect {
		return nil
	}
	b, _ := x.br.Peek(x.br.Buffered())
	h := usualHead{b: b[:min(len(b), maxUsualHead)], length: -1}
	if !h.parse() {
		return nil
	}
	resp := h.response(x.req.Request)
	x.br.Discard(int(h.at))
	x.quiet = !h.loud
	if resp.ContentLength > 0 {
		resp.Body = (*sizedBody)(x)
	}
	return resp
}

// parse reports whether the whole head is of the usual form. It writes field names in their
// canonical form into the buffer, as net/http's parser would.
func (h *usualHead) parse() bool {
	if !h.statusLine() {
		return false
	}
	for {
		if h.skip("\r\n") {
			return h.length >= 0 || !h.sized
		}
		if h.n == maxUsualFields || !h.field() {
			return false
		}
	}
}

// skip passes s by if it comes next.
func (h *usualHead) skip(s string) bool {
	if rest := h.b[h.at:]; len(rest) < len(s) || string(rest[:len(s)]) != s {
		return false
	}
	h.at += int32(len(s))
	return true
}

// statusLine parses "HTTP/1.1 200 OK".
func (h *usualHead) statusLine() bool {
	if !h.skip("HTTP/1.1 ") {
		return false
	}
	rest := h.b[h.at:]
	if len(rest) < len("200 ") || rest[len("200")] != ' ' {
		return false
	}
	code, ok := decimal(rest[:len("200")])
	if !ok || code < 200 || code > 599 {
		return false
	}
	h.code = int(code)
	h.sized = code != http.StatusNoContent && code != http.StatusNotModified
	h.status = h.text()
	return h.skip("\r\n")
}

func decimal(b []byte) (n int64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(b) > 0 && len(b) <= maxDigits
}

// maxDigits keeps a number from passing an int64's bounds.
const maxDigits = 15

// text passes the rest of a line by, up to what may not be in it.
func (h *usualHead) text() span {
	rest, n := h.b[h.at:], 0
	for n < len(rest) && (rest[n] >= ' ' && rest[n] != 0x7f || rest[n] == '\t') {
		n++
	}
	return h.pass(n)
}

// field parses "Name: value".
func (h *usualHead) field() bool {
	f := &h.fields[h.n]
	if f.name = h.name(); f.name.from == f.name.to || !h.skip(":") {
		return false
	}
	canonicalize(h.b[f.name.from:f.name.to])
	v := h.text()
	for v.from < v.to && isBlank(h.b[v.from]) {
		v.from++
	}
	for v.from < v.to && isBlank(h.b[v.to-1]) {
		v.to--
	}
	f.value = v
	h.n++
	return h.skip("\r\n") && h.heed(f)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// name passes a field's name by.
func (h *usualHead) name() span {
	rest, n := h.b[h.at:], 0
	for n < len(rest) && tokenBytes[rest[n]] {
		n++
	}
	return h.pass(n)
}

func (h *usualHead) pass(n int) span {
	from := h.at
	h.at += int32(n)
	return span{from, h.at}
}

// tokenBytes: RFC 9110 section 5.6.2, tchar.
var tokenBytes = func() (is [256]bool) {
	for c := range 0x80 {
		is[c] = httpguts.IsTokenRune(rune(c))
	}
	return is
}()

// canonicalize is http.CanonicalHeaderKey in place, for a token.
func canonicalize(name []byte) {
	upper := true
	for i, c := range name {
		switch {
		case upper && c >= 'a' && c <= 'z', !upper && c >= 'A' && c <= 'Z':
			name[i] = c ^ ('a' ^ 'A')
		}
		upper = c == '-'
	}
}

// heed reports whether the field lets the message be of the usual form.
func (h *usualHead) heed(f *usualField) bool {
	value := h.b[f.value.from:f.value.to]
	switch string(h.b[f.name.from:f.name.to]) {
	case "Content-Length":
		n, ok := decimal(value)
		if !ok || h.length >= 0 {
			return false
		}
		h.length = n
	case "Connection":
		return strings.EqualFold(string(value), "keep-alive")
	case "Keep-Alive", "Content-Encoding":
		h.loud = true
	case "Transfer-Encoding", "Trailer", "Pragma": // of which the last stands for Cache-Control
		return false
	}
	return true
}

// response makes the answer without its body.
func (h *usualHead) response(req *http.Request) *http.Response {
	s := string(h.b[:h.at])
	resp := &http.Response{
		Status: s[h.status.from:h.status.to], StatusCode: h.code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, h.n), Body: http.NoBody, Request: req,
	}
	if h.sized {
		resp.ContentLength = h.length
	}
	values := make([]string, h.n)
	for i := range h.n {
		f := &h.fields[i]
		name, value := s[f.name.from:f.name.to], s[f.value.from:f.value.to]
		if h.repeats(i) {
			resp.Header[name] = append(resp.Header[name], value)
			continue
		}
		values[i] = value
		resp.Header[name] = values[i : i+1 : i+1]
	}
	return resp
}

// repeats reports whether a field before the i-th has its name. Most names differ in their
// length, so this is cheaper than to ask a map.
func (h *usualHead) repeats(i int) bool {
	name := h.fields[i].name
	for _, f := range h.fields[:i] {
		if f.name.to-f.name.from == name.to-name.from && string(h.b[f.name.from:f.name.to]) == string(h.b[name.from:name.to]) {
			return true
		}
	}
	return false
}
