package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"example.com/connwise/internal/peer"
)

// A caller makes calls one after the other.
type caller struct {
	rig    *rig
	client any           // an http.RoundTripper or a Caller
	get    *http.Request // used again for each GET; nil: make one
	num    int           // among the rig's

	outer, inner context.Context    // of below
	stop         context.CancelFunc // ends inner; ctx's end does as well

	id     []byte    // scratch
	x      Exchange  // the one under way
	copied [512]byte // what is read of answers
	large  []byte    // the same, where they are looked at
	seen   seen
}

// below returns a context of the caller's own that ends with ctx. One that all callers shared,
// which no service has, would make them wait for each other where a client watches over it.
func (c *caller) below(ctx context.Context) context.Context {
	if c.outer != ctx {
		c.outer = ctx
		c.inner, c.stop = context.WithCancel(ctx)
	}
	return c.inner
}

var postBody = bytes.Repeat([]byte{'y'}, smallBody)

var errForeign = errors.New("bench: got the answer to another request")

// call makes a call and records what came of it. A call that fails because ctx
// has ended isn't recorded: the round won't be reported.
func (c *caller) call(ctx context.Context, method string) { c.callDue(ctx, method, time.Now()) }

// callDue is call for one that was due at some time, from which it's counted how long it
// took: what it waited before it could be made is part of that.
func (c *caller) callDue(ctx context.Context, method string, due time.Time) {
	id := c.rig.ids.next(method)
	status, err := c.roundTrip(ctx, method, id)
	c.record(ctx, id, due, status, err)
}

// record keeps what came of a call.
func (c *caller) record(ctx context.Context, id uint64, due time.Time, status int, err error) {
	switch now := time.Now(); {
	case err != nil && ctx.Err() != nil:
	case err != nil:
		c.get = nil // the transport may not be done with it
		c.rig.failedCall(id, now, err)
	case status/100 != 2:
		c.rig.unexpected(id, fmt.Errorf("bench: status %d", status))
	default:
		c.rig.succeeded(c.num, now, now.Sub(due))
	}
}

// roundTrip makes the call and reads the answer to its end.
func (c *caller) roundTrip(ctx context.Context, method string, id uint64) (status int, err error) {
	if limit := c.rig.callTimeout; limit > 0 {
		outer := ctx
		var cancel context.CancelFunc
		ctx, cancel = c.rig.bounded(outer, limit)
		defer cancel()
		defer func() {
			if err != nil && ctx.Err() != nil && outer.Err() == nil && !errors.Is(err, context.Cause(ctx)) {
				err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
			}
		}()
		c.get = nil // it has the last call's limit
	}
	c.id = strconv.AppendUint(c.id[:0], id, 10)
	e := &c.x
	*e = Exchange{Method: method, URL: c.rig.urlOf(id), ID: string(c.id)}
	if method == http.MethodPost {
		e.Body = c.rig.upload
		e.Chunked = c.rig.chunked(id)
	}
	if c.rig.checked > 0 {
		c.look(e)
	}
	if native, ok := c.client.(Caller); ok {
		err = native.Call(ctx, e)
	} else {
		err = c.viaRoundTripper(ctx, e)
	}
	if err == nil {
		err = c.check(e)
	}
	if err == nil && c.rig.checked > 0 {
		err = c.looked(e)
	}
	return e.Status, err
}

// check tells whether the answer is the call's, and came as it should.
func (c *caller) check(e *Exchange) error {
	switch {
	case c.rig.proto.h2 != (e.Proto == "HTTP/2.0"):
		return fmt.Errorf("bench: the answer came by %s in place of %s", e.Proto, c.rig.proto.about)
	case c.rig.peer != nil && e.AnswerID != e.ID:
		return errForeign
	}
	return nil
}

func (c *caller) viaRoundTripper(ctx context.Context, e *Exchange) error {
	resp, err := c.client.(http.RoundTripper).RoundTrip(c.request(ctx, e))
	if err != nil {
		return err
	}
	return c.finish(resp, e)
}

// finish reads an answer to its end.
func (c *caller) finish(resp *http.Response, e *Exchange) (err error) {
	defer resp.Body.Close()
	if e.Sink != nil {
		e.Read, err = io.CopyBuffer(e.Sink, resp.Body, c.large)
	} else {
		e.Read, err = c.discard(resp.Body)
	}
	if err != nil {
		return err
	}
	e.Status, e.Proto = resp.StatusCode, resp.Proto
	if ids := resp.Header[peer.HeaderID]; len(ids) > 0 {
		e.AnswerID = ids[0]
	}
	return nil
}

// discard reads a body to its end; a large one with io.Copy, as people do.
func (c *caller) discard(body io.Reader) (int64, error) {
	n := int64(0)
	for n <= 2*smallBody {
		m, err := body.Read(c.copied[:])
		n += int64(m)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	rest, err := io.Copy(io.Discard, body)
	return n + rest, err
}

// request returns the request to send. GETs reuse the caller's, which its
// RoundTripper has let go of since the last answer's body was closed, so that the
// allocations counted are the client's.
func (c *caller) request(ctx context.Context, e *Exchange) *http.Request {
	if e.Method == http.MethodGet && c.get != nil {
		c.get.URL, c.get.Host = e.URL, e.URL.Host
		c.get.Header[peer.HeaderID][0] = e.ID
		return c.get
	}
	req := (&http.Request{
		Method:     e.Method,
		URL:        e.URL,
		Host:       e.URL.Host,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{peer.HeaderID: {e.ID}},
	}).WithContext(ctx)
	if u := e.URL.User; u != nil { // http.Client would do this
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	if e.Method == http.MethodPost {
		body := e.Body
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		if e.Chunked {
			req.ContentLength = -1
		}
		req.Body, _ = req.GetBody()
		return req
	}
	c.get = req
	return req
}
