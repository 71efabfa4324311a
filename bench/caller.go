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
	rig *rig
	rt  http.RoundTripper
	get *http.Request // used again for each GET; nil: make one
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
	status, err := c.roundTrip(ctx, method, strconv.FormatUint(id, 10))
	switch d := time.Since(due); {
	case err != nil && ctx.Err() != nil:
	case err != nil:
		c.get = nil // the transport may not be done with it
		c.rig.failedCall(id, err)
	case status/100 != 2:
		c.rig.unexpected(fmt.Errorf("bench: status %d", status))
	default:
		c.rig.succeeded(d)
	}
}

// roundTrip makes the call and reads the answer to its end.
func (c *caller) roundTrip(ctx context.Context, method, id string) (status int, err error) {
	if limit := c.rig.callTimeout; limit > 0 { // a target
		outer := ctx
		var cancel context.CancelFunc
		ctx, cancel = bounded(outer, limit, c.rig.proto.h2)
		defer cancel()
		defer func() {
			if err != nil && ctx.Err() != nil && outer.Err() == nil {
				err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
			}
		}()
		c.get = nil // it has the last call's limit
	}
	resp, err := c.rt.RoundTrip(c.request(ctx, method, id))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	if c.rig.proto.h2 != (resp.ProtoMajor == 2) {
		return 0, fmt.Errorf("bench: the answer came by %s in place of %s", resp.Proto, c.rig.proto.about)
	}
	if c.rig.peer != nil && resp.Header.Get(peer.HeaderID) != id {
		return 0, errForeign
	}
	return resp.StatusCode, nil
}

// request returns the request to send. GETs reuse the caller's, which its
// RoundTripper has let go of since the last answer's body was closed, so that the
// allocations counted are the client's.
func (c *caller) request(ctx context.Context, method, id string) *http.Request {
	if method == http.MethodGet && c.get != nil {
		c.get.Header[peer.HeaderID][0] = id
		return c.get
	}
	req := (&http.Request{
		Method:     method,
		URL:        c.rig.url,
		Host:       c.rig.url.Host,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{peer.HeaderID: {id}},
	}).WithContext(ctx)
	if u := c.rig.url.User; u != nil { // http.Client would do this
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	if method == http.MethodPost {
		req.ContentLength = int64(len(postBody))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(postBody)), nil }
		req.Body, _ = req.GetBody()
		return req
	}
	c.get = req
	return req
}
