package h2

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"example.com/connwise/internal/wire"
)

// An Exchange is one request and its answer: one stream. It's used once, and not copied after
// that. The zero value is ready.
//
// After Start has returned an answer with a body, the Exchange is that body.
type Exchange struct {
	c     *Conn
	req   wire.Request
	owner Owner
	trace *httptrace.ClientTrace
	wake  chan struct{} // something has happened, for the one goroutine that waits: Start's, then Read's
	up    *upload       // of a streamed body; nil without one

	// Set before the request is in Conn.waiting, and not changed.
	listSize int64 // of the header section
	bodiless bool  // HEADERS end the request
	trailers bool  // the request has a trailer section
	head     bool  // a HEAD request: its answer has no body
	closes   bool  // the request says that the connection is not to be used again
	expects  bool  // the body awaits the peer's consent
	wants1xx bool  // a hook is given interim answers
	traced   bool  // hooks are told of what happens
	eager    bool  // Start needs to know what Write has accepted

	// Of Start, and then of Read.
	rmu       sync.Mutex // one Read at a time. It's taken before Conn.mu.
	gz        *wire.Gunzip
	unhook    func() bool   // ends the watch over the context; nil without one. Set under Conn.mu, unless told.
	gone      chan struct{} // closed at the end, for the watch over Request.Cancel; likewise
	unwatched sync.Once

	// The answer, and room for the values of its fields. The read loop's until headed.
	resp http.Response
	vals [8]string

	// Guarded by Conn.mu.
	links
	state    state
	id       uint32
	fields   section // to be encoded
	small    []byte  // a body in memory that waits for its turn
	gated    bool    // the body waits for the peer's consent
	unwanted bool    // the peer has answered without it
	data     []byte  // of the body, to be sent next
	last     bool    // data end the body
	window   int32   // what the peer takes of data

	queued    int64 // bytes that were put into a batch
	sent      int64 // bytes that Write has accepted
	headOut   bool  // the header section is among them
	endQueued bool  // END_STREAM was put into a batch
	allSent   bool  // and accepted
	sentAt    time.Time

	answered    bool // HEADERS came, interim ones included
	headed      bool // the final answer's head is in resp
	empty       bool // and nothing can follow it
	peerEnd     bool // END_STREAM came
	refused     bool // the peer proved that it didn't process the request
	got100      bool
	interims    int
	interimSize int64
	hints       []interim
	left        int64 // bytes of the declared length that haven't come, -1: nothing is declared
	body        body
	inflow      inflow
	crediting   bool // in Conn.creditors
	trailer     http.Header
	dirty       bool // in Conn.dirty

	returned bool // Start has returned
	wrote    bool // the hook was told of the request's end
	late     bool // and it's to be told behind Start's back
	closed   bool // Close was called
	quit     bool // this side gave up: what has come counts no more
	err      error
	final    wire.Facts
	frozen   bool
	why      wire.End
	told     bool
	nextDone *Exchange
}

// Start sends req on c and returns the answer. It blocks until the answer's head is there,
// whatever becomes of the rest of the upload.
//
// With an answer, its Body is http.NoBody if there is none and the request is sent, and else x
// itself. The owner is told when the stream takes none of the peer's concurrency any more, in
// any case, once; that may be before Start returns.
//
// The error is the cause alone: wire.Ended's, the connection's own, one of package wire's types,
// *GoAwayError, *ConnError, or http2.StreamError.
//
// wire.Request.Body is closed once in any case, unless Small is set; on an error before Start
// returns.
func (x *Exchange) Start(c *Conn, req wire.Request, owner Owner) (*http.Response, error) {
	x.c, x.req, x.owner = c, req, owner
	ctx := req.Context()
	if err := x.prepare(ctx); err != nil {
		return nil, x.withdraw(wire.EndError, err)
	}
	if ctx.Err() != nil {
		return nil, x.withdraw(wire.EndCancelled, wire.Ended(ctx))
	}
	c.mu.Lock()
	if c.closing != nil {
		err := c.closing
		c.unlock()
		return nil, x.withdraw(wire.EndError, err)
	}
	if c.roomLocked() <= 0 {
		c.unlock()
		return nil, x.withdraw(wire.EndKept, ErrStreamLimit)
	}
	x.state = stateWaiting
	c.waiting.push(x)
	c.writeAndUnlock()
	if err := x.await(ctx); err != nil {
		return nil, x.abort(err)
	}
	return x.open(ctx), nil
}

// prepare makes what Start sends.
func (x *Exchange) prepare(ctx context.Context) error {
	r := &x.req
	x.wake = make(chan struct{}, 1)
	if x.trace = httptrace.ContextClientTrace(ctx); x.trace != nil {
		x.traced = true
		x.wants1xx = x.trace.Got1xxResponse != nil
	}
	length, err := wire.BodyLength(r)
	if err != nil {
		return err
	}
	w := fieldWriter{fieldList: newSection().fieldList}
	x.fields = section{w.fieldList}
	if x.trace != nil && x.trace.WroteHeaderField != nil {
		w.trace = x.trace
	}
	if err := w.writeRequest(r, length); err != nil {
		return err
	}
	x.listSize = w.size()
	x.trailers = len(r.Trailer) > 0
	x.head = r.Method == http.MethodHead
	x.bodiless = length == 0 && !x.trailers
	x.closes = r.SaysClose()
	x.expects = length != 0 && httpguts.HeaderValuesContainsToken(r.Header["Expect"], "100-continue") && x.c.opt.ContinueTimeout > 0
	x.gated = x.expects
	switch {
	case x.bodiless:
	case r.Small != nil && !x.trailers:
		x.small = r.Small
	default:
		x.up = newUpload(x, length)
	}
	x.eager = x.traced || x.expects || r.ReadLimit(x.c.opt.HeaderTimeout) > 0
	return x.awaitExtended(ctx)
}

// withdraw ends an exchange that was never in Conn.waiting.
func (x *Exchange) withdraw(why wire.End, err error) error {
	c := x.c
	c.mu.Lock()
	c.dropLocked(x, why, err)
	c.unlock()
	x.closeBody()
	return err
}

// abort ends an exchange that has failed before its answer was there, with err if nothing else
// was known before.
func (x *Exchange) abort(err error) error {
	x.up.halt()
	x.closeBody()
	c := x.c
	c.mu.Lock()
	defer c.unlock()
	x.dropBodyLocked()
	x.setErrLocked(err)
	return x.err
}

// closeBody closes the body of a request if no goroutine does.
func (x *Exchange) closeBody() {
	if x.up != nil {
		x.up.abandon()
		return
	}
	if x.req.Small == nil && x.req.Body != nil {
		x.req.Body.Close() // there's nothing to add to the exchange's own error
	}
}

// open hands the answer out. What is left of the exchange ends with the context.
func (x *Exchange) open(ctx context.Context) *http.Response {
	c, r := x.c, &x.resp
	r.Request = x.req.Request
	c.mu.Lock()
	x.returned = true
	open, unwanted := x.state == stateOpen, x.unwanted
	ended := !x.wrote && (!open && x.up == nil || unwanted)
	x.late = x.traced && x.up == nil && !x.wrote && !ended
	none := x.peerEnd && x.body.first == nil && x.err == nil && x.trailer == nil
	if x.empty || none {
		r.Body = http.NoBody
	}
	if r.Body == nil || open && x.up != nil {
		r.Body = x
	}
	if none {
		x.takeTrailer(x.trailer)
	}
	c.mu.Unlock()
	if ended {
		x.traceWrote(nil) // the answer came without the rest of the request
	}
	if x.gunzips() {
		x.decode()
	}
	if open {
		x.watch(ctx)
	}
	if x.up == nil || unwanted || !open { // no goroutine will
		x.closeBody()
	}
	return r
}
