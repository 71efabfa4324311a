package pool

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// maxReplacements bounds how often one request replaces, unseen, a connection that took no
// byte of it, or whose peer refused it.
const (
	maxReplacements = 3
	maxGoAways      = 64 // by GOAWAYs on connections that had served others: a second or more
)

var (
	errPeerClosed = fmt.Errorf("pool: the peer has closed the connection: %w", io.EOF)
	errStale      = errors.New("pool: the connection grew too old while a hook ran")
)

// A call is a request on its way: one exchange's state, and the answer's body. A
// replacement of the connection makes a new one, since what belongs to the old exchange
// may still look at it.
type call struct {
	t     *Transport
	req   *http.Request
	trace *httptrace.ClientTrace
	opts  *options
	body  *upload // a streamed request body; nil if there is none or it is in small
	small []byte  // a body that was in memory, taken when a connection was held
	w     *waiter // if it had to wait; a replacement keeps its place

	caution *caution // of a request that isn't to be lost to a stale connection; else nil
	asks    bool     // by Expect: 100-continue

	h    *host
	g    grant
	x    exchange
	over atomic.Bool // ExchangeDone or StreamDone was called
	sent bool        // see noteSent
	// stale says that the connection was found dead by the look that comes with the write.
	stale bool

	// once says that a stream refused by REFUSED_STREAM is left to the caller of Attempt.
	once    bool
	settled bool // a connection straight from its dial was of no use: now any will do
	resent  int  // see Error.Resent
	aways   int  // replacements by GOAWAYs on connections that had served others
}

func newCall(t *Transport, req *http.Request) *call {
	c := calls.Get().(*call)
	c.t, c.req = t, req
	c.trace, c.opts = httptrace.ContextClientTrace(req.Context()), optionsOf(req.Context())
	if req.Body != nil && req.Body != http.NoBody && !inMemory(req) {
		c.body = &upload{body: req.Body}
	}
	if t.set.confirms {
		c.caution = newCaution(req)
	}
	return c
}

// run takes a connection and makes the exchange on it, again on another one if the first
// turns out to be stale. It is called for the call that RoundTrip has made.
func (c *call) run() (resp *http.Response, err error) {
	var h *host
	defer func() {
		h.tripDone()
		if resp == nil && err == nil { // a hook has panicked
			c.closeBody()
		}
	}()
	for n := 0; ; {
		at, err := c.t.hostFor(c.req)
		if err != nil {
			return nil, c.failed(callerError(c.req.URL.Host, CallerHook, err))
		}
		if at != h {
			at.trips.Add(1)
			h.tripDone()
			h = at
		}
		c.h = h
		if err := c.take(n > 0); err == errForgotten {
			continue
		} else if err != nil {
			e := err.(*Error)
			e.Resent, e.BodyTouched = c.resent, c.bodyTouched() // by those before
			return nil, c.failed(e)
		}
		resp, e := c.send()
		switch {
		case c.stale:
			c.stale = false
			continue
		case e == nil:
			return resp, nil
		case c.rejected(e):
		case !c.patient(n, e) || !c.replaceable(e):
			return nil, c.failed(e)
		}
		if err := c.pause(n, e); err != nil {
			e.Err = err
			return nil, c.failed(e)
		}
		next, err := c.again(e)
		if err != nil {
			e.Err = fmt.Errorf("%w (%w)", e.Err, &CallerError{CallerBody, err})
			return nil, c.failed(e)
		}
		h.noteReplaced()
		c.traceReplaced(e, n+1)
		c = next
		n++
	}
}

// patient tells whether the request may be replaced once more, after n times. A peer that
// ends each connection after some requests may do so to the same one several times, before or
// after its first byte: what it ends has served others. These don't count among the others.
func (c *call) patient(n int, e *Error) bool {
	if c.endedInTurn(e) {
		return c.aways < maxGoAways
	}
	return n-c.aways < maxReplacements
}

// endedInTurn tells whether e is due to a GOAWAY on a connection that had served others.
func (c *call) endedInTurn(e *Error) bool {
	_, away := errors.AsType[*GoAwayError](e)
	return away && e.Unprocessed() && c.g.c.served.Load() && !refusedAlone(e)
}

// again is the call that takes c's place.
func (c *call) again(e *Error) (*call, error) {
	next := &call{t: c.t, req: c.req, trace: c.trace, opts: c.opts, body: c.body, small: c.small, w: c.w, once: c.once, resent: c.resent, caution: c.caution, settled: c.settled || !c.g.reused, aways: c.aways}
	switch {
	case c.endedInTurn(e):
		next.aways++
	case e.Phase == PhaseRefused:
		next.resent++
	}
	if c.body.wasTouched() {
		body, err := c.req.GetBody()
		if err != nil {
			return nil, err
		}
		c.body.release()
		next.body = &upload{body: body}
	}
	return next, nil
}

// take takes a connection from the host. begun says that the request isn't new: Shutdown
// lets it end.
func (c *call) take(begun bool) (err error) {
	if c.trace != nil && c.trace.GetConn != nil {
		c.trace.GetConn(c.h.key.addr)
	}
	//lint:ignore SA1019 http.Client's Timeout sets Cancel for transports that it doesn't know
	c.g, err = c.h.acquire(wish{c.req.Context(), c.req.Cancel, begun, c.h.speaks.both() && needsHTTP1(c.req), &c.w, c.caution.of(c.h), c.taste(), c.looksLate()})
	return err
}

// maxPause bounds the time between two replacements, maxAwayPause where the peer ends its
// connections in turn: others fill the next one meanwhile.
const (
	maxPause     = 64 * time.Millisecond
	maxAwayPause = 16 * time.Millisecond
)

// pause waits between replacements, longer each time: a peer that closes what it has
// just accepted isn't to be stormed. It returns why the request ended, if it did meanwhile.
func (c *call) pause(n int, e *Error) error {
	d := min(time.Millisecond<<(2*min(n, 16)), maxPause)
	switch {
	case c.endedInTurn(e) && c.aways > 0:
		d = min(time.Millisecond<<min(c.aways, 16), maxAwayPause)
	case refusedAlone(e):
		d += time.Duration(c.t.set.Jitter() * float64(d))
	case n == 0:
		return nil // the common case: one connection was stale
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.t.ctx.Done(): // closed, as the next connection will say
	case <-c.req.Context().Done():
	//lint:ignore SA1019 as in take
	case <-c.req.Cancel:
	}
	return c.ended()
}
