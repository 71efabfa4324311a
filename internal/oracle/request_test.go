package oracle

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	headerID      = "X-Request-Id"
	headerAttempt = "X-Attempt"
	headerBody    = "X-Body" // the body's length, as there may be none in the framing

	smallBody = 1 << 10
	largeBody = 100 << 10

	patience  = 60 * time.Second // of a request that has no deadline of its own
	shortTime = 8 * time.Millisecond
)

// A bodyKind is how a request's body can be had, and had again.
type bodyKind uint8

const (
	bodyNone     bodyKind = iota
	bodyMemory            // by GetBody, its length known
	bodyChunked           // by GetBody, its length not known
	bodySeekable          // by Seek
	bodyBare              // in memory, once
	bodyOnce              // a stream, its length known
	bodyOnceLong          // a stream, its length not known
)

// once tells whether a body that was touched can't be had again.
func (k bodyKind) once() bool { return k >= bodyBare }

// A call is a request that a client was given, and what came of it.
type call struct {
	id      int
	method  string
	opted   bool // it may be executed twice
	short   bool // its deadline is near
	traced  bool
	kind    bodyKind
	touched func() bool // a byte of its body was asked for

	ctx      context.Context
	attempts []*attempt
	status   int   // of the answer, if it came whole
	wrong    bool  // the answer was to another request
	err      error // why there is none
	begun    bool  // the answer had begun
	late     bool  // its time was over when it ended
}

var methods = []string{
	http.MethodGet, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut,
	http.MethodDelete, http.MethodPatch, http.MethodPost, http.MethodPost, http.MethodPost,
}

// safe tells whether the method may be executed twice by what it is.
func (c *call) safe() bool {
	return c.method == http.MethodGet || c.method == http.MethodHead || c.method == http.MethodOptions
}

// newCall makes the request with an id of a run. The same seed and id give the same request.
func newCall(seed uint64, id int, url string) (*call, *http.Request, context.CancelFunc) {
	rng := rand.New(rand.NewPCG(seed, uint64(id)))
	c := &call{id: id, method: methods[rng.IntN(len(methods))], short: rng.IntN(20) == 0, traced: rng.IntN(4) > 0}
	limit := patience
	if c.short {
		limit = span(rng, shortTime)
	}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), callKey{}, c), limit)
	if c.ctx = ctx; c.traced {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { c.now().gotConn(i) }})
	}
	req, err := http.NewRequestWithContext(ctx, c.method, url, nil)
	if err != nil {
		panic(err) // the test's own mistake
	}
	req.Header.Set(headerID, strconv.Itoa(id))
	if !c.safe() && rng.IntN(8) == 0 {
		c.opted = true
		req.Header.Set("Idempotency-Key", strconv.Itoa(id))
	}
	c.touched = func() bool { return false }
	switch {
	case c.method == http.MethodPost, c.method == http.MethodPut, c.method == http.MethodPatch, c.method == http.MethodDelete && rng.IntN(4) == 0:
		c.setBody(req, rng)
	}
	return c, req, cancel
}

type callKey struct{}

func callOf(req *http.Request) *call { return req.Context().Value(callKey{}).(*call) }

// setBody gives the request a body of a random kind.
func (c *call) setBody(req *http.Request, rng *rand.Rand) {
	c.kind = bodyKind(rng.IntN(int(bodyOnceLong) + 1))
	if c.kind == bodyNone {
		return
	}
	n := 1 + rng.IntN(smallBody)
	if rng.IntN(25) == 0 {
		n = 1 + rng.IntN(largeBody)
	}
	b := bodyBytes(n)
	req.Header.Set(headerBody, strconv.Itoa(n))
	req.ContentLength = int64(n)
	switch c.kind {
	case bodyMemory, bodyChunked:
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
		req.Body, _ = req.GetBody()
	case bodySeekable:
		req.Body = seekable{bytes.NewReader(b)}
	case bodyBare:
		r := bytes.NewReader(b)
		req.Body = io.NopCloser(r)
		c.touched = func() bool { return r.Len() < n }
	default:
		s := &stream{r: bytes.NewReader(b)}
		req.Body = s
		c.touched = s.touched.Load
	}
	if c.kind == bodyChunked || c.kind == bodyOnceLong {
		req.ContentLength = -1
	}
	if rng.IntN(20) == 0 {
		req.Header.Set("Expect", "100-continue")
	}
}

// A seekable body can be had again by Seek.
type seekable struct{ *bytes.Reader }

func (seekable) Close() error { return nil }

// A stream can be read once.
type stream struct {
	r       io.Reader
	touched atomic.Bool
}

func (s *stream) Read(p []byte) (int, error) {
	s.touched.Store(true)
	return s.r.Read(p)
}

func (s *stream) Close() error { return nil }

// bodyBytes are a body of n bytes, which no other length has the beginning of.
func bodyBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + n)
	}
	return b
}

// rightBody tells whether b is the body whose length the request's header tells.
func rightBody(b []byte, length string) bool {
	n, _ := strconv.Atoi(length)
	if len(b) != n {
		return false
	}
	for i := range b {
		if b[i] != byte(i+n) {
			return false
		}
	}
	return true
}

// answerText is the body of the answer to a request.
func answerText(id string) string { return id + strings.Repeat(".", 100) }

// left is the time that the call has; none if its context has ended.
func (c *call) left() time.Duration {
	deadline, _ := c.ctx.Deadline()
	if c.ctx.Err() != nil {
		return 0
	}
	return time.Until(deadline)
}
