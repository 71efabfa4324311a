package h1

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"example.com/connwise/internal/wire"
)

// An Exchange is one request and its answer. It's embedded by value in the caller's
// own struct, used once, and not copied after that. The zero value is ready.
//
// After Start has returned an answer with a body, the Exchange is that body.
type Exchange struct {
	c        *Conn
	req      wire.Request
	owner    Owner
	trace    *httptrace.ClientTrace
	frame    framing
	unhook   func() bool   // ends the watch over the context; nil without one
	gone     chan struct{} // closed at the end, for the watch over Request.Cancel; nil without one
	expects  bool          // the head has an expectation, and 100 Continue hasn't come
	gated    bool          // the body waits for it, or has waited
	out      *buffer       // has the head, and a body that goes out with it; nil once they're sent
	hookRuns bool          // the context ended just as the exchange did

	// The reading side. It belongs to Start until that returns, then to whom holds rmu.
	// rmu is taken before mu.
	rmu        sync.Mutex
	untilClose bool          // only the connection's end delimits the body
	inBody     bool          // reads have the stall limit of a body
	over       bool          // the last Read met the end of wire
	quiet      bool          // the answer's head has no field that an exchange heeds
	br         *bufio.Reader // from a pool; nil once the answer is over or has failed
	wire       io.Reader     // the body as the message's framing delimits it; nil like br
	gz         *wire.Gunzip  // decodes wire; nil if there is nothing to decode
	left       int64         // bytes of wire to come, -1 if unknown
	merged     *duplex       // of the first Read, if that is to send the request
	budget     int64         // bytes that the answer's head may still have, -1: no limit
	readErr    error         // what the connection's Read returned; io.EOF: the peer has closed its side
	lastRead   time.Time     // when the connection's Read last returned bytes
	broken     error         // how the last Read failed on the wire

	mu sync.Mutex // guards the following; nothing that blocks is called under it
	state
	up         *upload // of a streamed body
	begun      bool    // some of it is with the connection, or about to be
	bodyClosed bool    // Request.Body's Close was called or is about to be
	facts      wire.Facts
	alarms     *alarms // nil until one was set
}

// Start sends req on c and returns the answer. It blocks until the answer's head is
// there, whatever becomes of the rest of the upload.
//
// With an answer, its Body is http.NoBody if there is none and the request is sent, an
// io.ReadWriteCloser after a switch of protocols (101), and else x itself. The owner
// is told when the exchange has ended, which may be before Start returns.
//
// On an error the connection is closed and the owner isn't told. (Only a *wire.RequestError and
// wire.ErrStale leave the connection as it was: they come before the first byte.) The error is the
// cause alone: wire.Ended's, Read's or Write's own, or one of this package's types.
//
// Request.Body is closed once in any case, unless Small is set; on an error before
// Start returns.
func (x *Exchange) Start(c *Conn, req wire.Request, owner Owner) (*http.Response, error) {
	x.c, x.req, x.owner = c, req, owner
	if err := c.begin(); err != nil {
		x.closeBody()
		return nil, err
	}
	ctx := req.Context()
	x.trace = httptrace.ContextClientTrace(ctx)
	if ctx.Err() != nil {
		x.fail(wire.EndCancelled, wire.Ended(ctx))
		return nil, x.abort(nil)
	}
	x.watch(ctx)
	if err := x.send(); err != nil {
		if leaves(err) && x.withdraw(err) {
			return nil, err
		}
		return nil, x.abort(err)
	}
	resp, err := x.answer()
	if err != nil {
		return nil, x.abort(err)
	}
	return x.open(resp), nil
}

// withdraw ends an exchange of which nothing was written, and leaves the connection as it
// was. It returns false if the exchange has failed in another way meanwhile.
func (x *Exchange) withdraw(err error) bool {
	x.mu.Lock()
	if x.ended {
		x.mu.Unlock()
		return false
	}
	x.ended, x.why, x.err = true, wire.EndError, err
	x.alarms.offLocked()
	if x.up != nil {
		x.up.stopLocked()
	}
	x.mu.Unlock()
	x.halt()
	if err != wire.ErrStale { // else another connection is to have the request
		x.closeBody()
	}
	x.dropReader()
	x.unwatch()
	x.c.end()
	return true
}

// leaves reports whether the error leaves the connection as it was.
func leaves(err error) bool {
	_, invalid := err.(*wire.RequestError)
	return invalid || err == wire.ErrStale
}

// abort ends an exchange that has no answer, and returns why.
func (x *Exchange) abort(err error) error {
	first := x.fail(wire.EndError, err)
	x.c.kill() // or wait until who failed first has closed it
	x.halt()
	x.closeBody()
	x.dropReader()
	x.unwatch()
	x.c.end()
	x.mu.Lock()
	defer x.mu.Unlock()
	if first && x.writeCameFirst() {
		return x.writeErr
	}
	return x.err
}

// writeCameFirst reports whether the write's error tells more than the read's, which
// may be no more than its consequence: the kernel reports a reset once. It isn't so if
// an answer had begun, or if the write failed as this side closed. x.mu is held.
func (x *Exchange) writeCameFirst() bool {
	return x.writeErr != nil && !x.facts.Answered &&
		!errors.Is(x.writeErr, net.ErrClosed) && !errors.Is(x.writeErr, io.ErrClosedPipe)
}

// open hands the answer out.
func (x *Exchange) open(resp *http.Response) *http.Response {
	switch {
	case switchesProtocol(resp):
		x.upgrade(resp)
	case resp.Body == http.NoBody:
		x.endReading()
	default:
		x.takeBody(resp)
	}
	keepAlive := ""
	if !x.quiet {
		keepAlive = strings.Join(resp.Header["Keep-Alive"], ",")
	}
	x.mu.Lock()
	x.opened = true
	x.facts.KeepAlive = keepAlive
	if x.readEnd && x.up.alive() {
		resp.Body = x // so that Close can stop the upload, or the look behind its end
	}
	failed, why, over := x.ended, x.why, x.readEnd
	x.mu.Unlock()
	if failed { // as the answer came; it's whole, or its body will tell
		x.closeConn(why)
		x.conclude(why)
		x.reclaim()
		return resp
	}
	if over {
		x.settle()
	}
	return resp
}

// Facts returns what is known so far.
func (x *Exchange) Facts() wire.Facts {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.facts
	f.HeadOnly = x.gated && !x.begun && f.Sent > 0 && !f.Answered
	return f
}

// KeepAlive is Facts().KeepAlive for the owner, from when it's told of the end.
func (x *Exchange) KeepAlive() string { return x.facts.KeepAlive }

// LastRead returns when a Read of the connection last returned bytes, with the monotonic and the
// wall clock's reading. It's for the owner, when it is told that the connection is kept.
func (x *Exchange) LastRead() time.Time { return x.lastRead }

// Spent reports whether the exchange has ended well and nothing that it set going can come back
// to it: no upload, timer, decoder, or watch over a context. Its caller has seen to it that no
// Read and no Close is under way.
func (x *Exchange) Spent() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ended && x.why == wire.EndKept && x.up == nil && x.alarms == nil &&
		x.gone == nil && x.gz == nil && !x.hookRuns
}
