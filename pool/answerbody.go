package pool

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"example.com/connwise/internal/h1"
)

// What a request and its exchange need while they last is more memory than what its caller
// keeps of the answer, and is used again for another request, as garbage collection is the
// larger part of what a small request costs. A caller can't be kept from calling Read or Close
// when all is over, maybe from another goroutine, and must not meet another request then: so
// the answer's body is a handle that lets go of the call.

var (
	calls     = sync.Pool{New: func() any { return new(call) }}
	exchanges = sync.Pool{New: func() any { return new(h1.Exchange) }}
)

// An answerBody is the body of an answer over HTTP/1.1. It is never used again.
type answerBody struct {
	c *call // not to be touched by who finds bodyClosed, but for the first who closes
	// uses counts the Reads under way, and has bodyClosed once Close was called.
	uses atomic.Int32
}

const bodyClosed = 1 << 30

// Read reads the answer's body.
func (b *answerBody) Read(p []byte) (int, error) {
	if b.uses.Add(1)&bodyClosed != 0 {
		b.uses.Add(-1)
		return 0, http.ErrBodyReadAfterClose
	}
	defer b.uses.Add(-1) // also if a decoder panics
	return b.c.Read(p)
}

// Close ends the exchange, as call.Close does. Later calls do nothing. If nobody else can still
// come by the call, it is used again.
func (b *answerBody) Close() error {
	if b.uses.Or(bodyClosed)&bodyClosed != 0 {
		return nil
	}
	c := b.c
	err := c.Close()
	// A Read that has begun before is counted, and one that begins now doesn't touch the call.
	if b.uses.Load() == bodyClosed {
		b.c = nil
		c.recycle()
	}
	return err
}

// bodyOf is what the caller gets as the answer's body in place of the exchange.
func (c *call) bodyOf(x io.ReadCloser) io.ReadCloser {
	if _, ok := x.(*h1.Exchange); ok && c.forgettable() {
		return &answerBody{c: c}
	}
	return c
}

// forgettable tells whether nobody but the answer's body has the call once its exchange is over.
func (c *call) forgettable() bool {
	return c.trace == nil && c.body == nil && c.g.c.trace == nil
}

// recycle takes back a call that nobody uses any more, with its exchange, if nobody has that
// either.
func (c *call) recycle() {
	x := c.x.(*h1.Exchange)
	if !x.Spent() {
		return
	}
	*x = h1.Exchange{}
	exchanges.Put(x)
	*c = call{}
	calls.Put(c)
}
