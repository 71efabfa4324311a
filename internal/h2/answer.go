package h2

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"example.com/connwise/internal/wire"
)

// An interim is a 1xx answer that waits for a hook. The hook runs in the caller's goroutine.
type interim struct {
	status int
	header http.Header
}

// onHead makes an answer of the block, an interim or the final one.
func (c *Conn) onHead() error {
	b := &c.blk
	status, err := statusOf(b.status)
	if err != nil {
		return err
	}
	if status < 200 {
		return c.onInterim(status)
	}
	x := b.x
	if b.h == nil {
		b.h = make(http.Header)
	}
	fillAnswer(&x.resp, status, b)
	c.mu.Lock()
	defer c.unlock()
	if x.state != stateOpen {
		return nil
	}
	c.flood.useful()
	c.headLocked(x)
	if b.end {
		c.endReadingLocked(x)
	}
	return nil
}

func statusOf(s string) (int, error) {
	if s == "" {
		return 0, errors.New("malformed response from server: missing status pseudo header")
	}
	n, err := strconv.Atoi(s)
	if err != nil || len(s) != 3 || n < 100 {
		return 0, errors.New("malformed response from server: malformed non-numeric status pseudo header")
	}
	if n == http.StatusSwitchingProtocols {
		return 0, errors.New("101 (RFC 9113 section 8.6 has no use for it)")
	}
	return n, nil
}

// onInterim deals with a 1xx answer.
func (c *Conn) onInterim(status int) error {
	b := &c.blk
	if b.end {
		return errors.New("1xx informational response with END_STREAM flag")
	}
	x := b.x
	c.mu.Lock()
	defer c.unlock()
	x.interims++
	x.interimSize += b.size
	switch {
	case x.interims > wire.MaxInterim:
		return &wire.InterimLimitError{Limit: wire.MaxInterim}
	case x.interimSize > c.opt.maxHeader():
		return &wire.HeaderLimitError{Limit: c.opt.maxHeader()}
	}
	x.got100 = x.got100 || status == http.StatusContinue
	if x.wants1xx {
		if b.h == nil {
			b.h = make(http.Header)
		}
		x.hints = append(x.hints, interim{status, b.h})
	}
	if x.wants1xx || x.got100 && x.gated || x.traced {
		c.stainLocked(x)
	}
	return nil
}

// headLocked notes that the final answer's head has come.
func (c *Conn) headLocked(x *Exchange) {
	x.headed = true
	// Content-Length may tell of what the answer stands for (RFC 9110 section 8.6).
	s := x.resp.StatusCode
	x.empty = x.head || s == http.StatusNoContent || s == http.StatusNotModified
	if x.left = x.resp.ContentLength; x.empty {
		x.left = -1
	}
	c.stainLocked(x)
}

// fillAnswer makes an answer of a block.
func fillAnswer(r *http.Response, status int, b *block) {
	r.Proto, r.ProtoMajor = "HTTP/2.0", 2
	r.StatusCode, r.Status = status, statusLine(b.status, status)
	r.Header = b.h
	for _, k := range connectionFields {
		delete(r.Header, k)
	}
	announceTrailer(r)
	r.ContentLength = contentLength(r.Header)
	if r.ContentLength < 0 && b.end && !b.x.head {
		r.ContentLength = 0
	}
}

// connectionFields have no meaning in HTTP/2 (RFC 9113 section 8.2.2). They are dropped as
// net/http does, since whoever passes the answer on would be misled.
var connectionFields = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"}

func statusLine(s string, status int) string {
	if status == http.StatusOK {
		return "200 OK"
	}
	return s + " " + http.StatusText(status)
}

// announceTrailer moves the names of the trailer fields to r.Trailer.
func announceTrailer(r *http.Response) {
	vv, ok := r.Header["Trailer"]
	if !ok {
		return
	}
	delete(r.Header, "Trailer")
	r.Trailer = make(http.Header)
	for _, v := range vv {
		for k := range strings.SplitSeq(v, ",") {
			if k = strings.TrimSpace(k); k != "" {
				r.Trailer[http.CanonicalHeaderKey(k)] = nil
			}
		}
	}
}

// contentLength returns the body's length in bytes as the fields say it, -1 if they don't.
// Values that are the same count as one (RFC 9110 section 8.6); nonsense is dropped.
func contentLength(h http.Header) int64 {
	vv, ok := h["Content-Length"]
	if !ok {
		return -1
	}
	n, err := strconv.ParseUint(vv[0], 10, 63)
	if err != nil || slices.ContainsFunc(vv, func(v string) bool { return v != vv[0] }) {
		delete(h, "Content-Length")
		return -1
	}
	h["Content-Length"] = vv[:1]
	return int64(n)
}

// onTrailers ends an answer with its trailer section.
func (c *Conn) onTrailers() error {
	b := &c.blk
	if !b.end {
		return errors.New("trailers without END_STREAM")
	}
	x := b.x
	c.mu.Lock()
	defer c.unlock()
	switch {
	case x.state != stateOpen:
		return nil
	case x.peerEnd:
		return errors.New("HEADERS after END_STREAM")
	}
	x.trailer = b.h
	c.endReadingLocked(x)
	return nil
}

// takeTrailer adds the trailer section to the answer. The body has been read to its end.
func (x *Exchange) takeTrailer(h http.Header) {
	if h == nil {
		return
	}
	if x.resp.Trailer == nil {
		x.resp.Trailer = make(http.Header, len(h))
	}
	for k, vv := range h {
		x.resp.Trailer[k] = vv
	}
}

// gunzips reports whether the answer's body is to be decoded on the way.
func (x *Exchange) gunzips() bool {
	return x.req.Gzip && !x.empty && x.resp.Body != http.NoBody &&
		httpguts.HeaderValuesContainsToken(x.resp.Header["Content-Encoding"], "gzip") &&
		strings.EqualFold(x.resp.Header.Get("Content-Encoding"), "gzip")
}

// endReadingLocked notes END_STREAM.
func (c *Conn) endReadingLocked(x *Exchange) {
	x.peerEnd = true
	if x.left > 0 {
		x.setErrLocked(fmt.Errorf("%d bytes short of Content-Length: %w", x.left, errShort))
	}
	c.stainLocked(x)
	c.settleLocked(x)
}
