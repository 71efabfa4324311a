package pool

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/health"
	"example.com/connwise/internal/h1"
	"example.com/connwise/internal/wire"
)

// This file has what a call does with the connection that it has taken, over HTTP/1.1:
// hooks, the request, and the answer until its end, with which the connection goes back. See
// stream.go for HTTP/2.

// An exchange is a request and its answer on a connection: *h1.Exchange or *h2.Exchange.
type exchange interface {
	io.ReadCloser
	Facts() wire.Facts
}

// send makes one exchange on the connection in c.g. If it is left before that has begun, by
// a hook's panic too, the connection goes back.
func (c *call) send() (*http.Response, *Error) {
	held := true
	defer func() {
		if held {
			c.h.put(c.g.c)
		}
	}()
	if err := c.prepare(); err != nil {
		return nil, c.describe(&Error{Phase: PhaseUnsent, Err: err})
	}
	held = false
	// Hooks may have taken their time, and the look is to be the last thing before the
	// first byte.
	if c.hooked() {
		if err := c.h.lookAgain(&c.g); err != nil {
			return nil, c.describe(&Error{Phase: PhaseUnsent, Err: err})
		}
	}
	if err := c.confirm(); err != nil {
		return nil, c.describe(&Error{Phase: PhaseUnsent, Err: c.cause(err)})
	}
	if c.g.c.trace != nil {
		return c.exchangeTraced()
	}
	return c.exchange()
}

// exchange sends the request and reads the answer's head.
func (c *call) exchange() (*http.Response, *Error) {
	conn := c.g.c
	if conn.h2 != nil {
		return c.exchangeStream()
	}
	x := exchanges.Get().(*h1.Exchange)
	c.x = x
	since := conn.idleSince
	if conn.uses++; conn.uses == 1 {
		conn.idleSince = time.Now()
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		if !c.over.Load() { // a trace hook or the caller's body has panicked
			c.h.retire(conn, ReasonError)
		}
		if c.body != nil {
			c.body.Close() // h1 may not have come as far as what does
		}
	}()
	resp, err := x.Start(conn.h1, c.wire(), c)
	returned = true
	if r, ok := err.(*wire.RequestError); ok {
		conn.uses--
		conn.idleSince = since
		c.h.put(conn) // it is as it was
		return nil, c.describe(&Error{Phase: PhaseUnsent, Err: &CallerError{CallerRequest, r.Err}})
	}
	if err == wire.ErrStale {
		conn.uses--
		conn.idleSince = since
		c.foundStale()
		return nil, nil
	}
	if c.asks {
		c.noteWord(err)
	}
	c.noteSent()
	if err != nil {
		return nil, c.lost(err)
	}
	if c.body != nil {
		c.body.release()
	}
	return c.received(resp), nil
}

// noteSent counts a request that its connection was given, and didn't give back as it was.
func (c *call) noteSent() {
	c.sent = true
	c.h.given.count(c.g.reused)
}

// hooked tells whether code of the caller's has run since the connection was looked at.
func (c *call) hooked() bool {
	return c.t.set.BeforeSend != nil || c.opts.beforeSend != nil || c.trace != nil && c.trace.GotConn != nil
}

// prepare does all that can fail or take time on the caller's side: its hooks, and taking
// a body that is in memory.
func (c *call) prepare() error {
	if c.trace != nil && c.trace.GotConn != nil {
		c.trace.GotConn(httptrace.GotConnInfo{Conn: c.g.c.nc, Reused: c.g.reused || c.g.wasIdle, WasIdle: c.g.wasIdle, IdleTime: c.g.idle})
	}
	if err := c.beforeSend(); err != nil {
		return err
	}
	if err := c.ended(); err != nil {
		return err
	}
	if c.asks = c.decideExpect(); c.asks && c.small == nil && c.body == nil {
		c.body = &upload{body: c.req.Body} // not to be read before the peer's word
	}
	if c.body != nil || c.small != nil || c.req.Body == nil || c.req.Body == http.NoBody {
		return nil
	}
	var err error
	if c.small, err = takeSmall(c.req); err != nil {
		return &CallerError{CallerBody, err}
	}
	return nil
}

// wire is the request as the connection sends it.
func (c *call) wire() wire.Request {
	r := wire.Request{Request: c.req, Small: c.small, Confirm: c.asks, ReadTimeout: c.opts.readTimeout, Look: c.g.late}
	set := c.t.set
	r.Gzip = !set.disableCompression && wantsGzip(c.req)
	r.Close = set.disableKeepAlives && !switchesProtocol(c.req.Header)
	if c.body != nil {
		// h1 reads and closes the body through c.body. A copy, since the request is the
		// caller's.
		c.body.lend()
		req := *c.req
		req.Body = c.body
		r.Request = &req
	}
	if c.firstOf(&r) {
		r.Extra = keepAlive
	}
	if c.h.forward {
		r.Proxied = true
		if auth := dialer.ProxyAuthorization(c.h.route.Proxy); auth != "" && c.req.Header.Get("Proxy-Authorization") == "" {
			r.Extra = maps.Clone(r.Extra)
			if r.Extra == nil {
				r.Extra = http.Header{}
			}
			r.Extra["Proxy-Authorization"] = []string{auth}
		}
	}
	return r
}

// keepAlive is what the first request on an HTTP/1.1 connection says beyond need: some
// servers (Apache) announce their idle timeout only to those who ask for what is the default.
var keepAlive = http.Header{"Connection": {"keep-alive"}}

// firstOf tells whether r is the first request on an HTTP/1.1 connection, and says nothing of
// what becomes of that.
func (c *call) firstOf(r *wire.Request) bool {
	conn := c.g.c
	return conn.h2 == nil && conn.uses == 1 && !r.Close && !c.req.Close && len(c.req.Header["Connection"]) == 0
}

// received finishes the answer for the caller.
func (c *call) received(resp *http.Response) *http.Response {
	if c.g.reused { // a peer has another timer for connections that were never used
		c.h.noteSurvival(c.g.idle)
	} else {
		c.h.noteUseful(c.g.c)
	}
	resp.Request = c.req
	resp.TLS = c.g.c.tls
	if resp.Body == io.ReadCloser(c.x) {
		resp.Body = c.bodyOf(c.x)
	}
	return resp
}

// noteAnnounced takes the idle timeout that the server announced with an answer. The
// connection must still be held.
func (h *host) noteAnnounced(c *conn, field string) {
	d, ok := health.ParseKeepAlive(field)
	if !ok || d == c.announced {
		return
	}
	c.announced = d
	h.mu.Lock()
	h.shown = d
	h.mu.Unlock()
}

// ExchangeDone gives the connection back. h1 calls it once for each exchange that had an
// answer, from whichever goroutine ended it.
func (c *call) ExchangeDone(reusable bool, why wire.End) {
	c.over.Store(true)
	conn, kept := c.g.c, false
	if reusable {
		x, began := c.x.(*h1.Exchange), conn.idleSince
		conn.idleSince = x.LastRead()
		if conn.uses == 1 {
			c.h.noteExchange(conn.idleSince.Sub(began))
		}
		if field := x.KeepAlive(); field != "" {
			c.h.noteAnnounced(conn, field)
		}
		kept = c.h.put(conn)
	} else {
		reason := reasonOf(why)
		switch {
		case conn.killed.Load() != nil:
			reason = ReasonClosed
		case reason == ReasonError && conn.peerClosed.Load():
			reason = ReasonPeerAborted
		}
		c.h.retire(conn, reason)
	}
	if c.trace != nil && c.trace.PutIdleConn != nil && !c.t.set.disableKeepAlives {
		var err error
		if !kept {
			err = errNotKept
		}
		c.trace.PutIdleConn(err)
	}
}

var errNotKept = errors.New("pool: the connection was not kept")

// Read reads the answer's body.
func (c *call) Read(p []byte) (int, error) {
	n, err := c.x.Read(p)
	if err == nil || err == io.EOF || err == http.ErrBodyReadAfterClose {
		return n, err
	}
	return n, c.describe(&Error{Phase: PhaseResponse, Sent: c.x.Facts().Sent, Err: c.cause(err)})
}

// Close ends the exchange. It doesn't wait for the peer: a little that is left of the
// body is read so that the connection can be kept; otherwise it is closed.
func (c *call) Close() error { return c.x.Close() }
