package sidecar

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"example.com/connwise/pool"
)

// replayMemory bounds what all request bodies that are kept take together.
type replayMemory struct{ limit, used atomic.Int64 }

// take reserves n bytes, if there is room.
func (m *replayMemory) take(n int64) bool {
	if m.used.Add(n) <= m.limit.Load() {
		return true
	}
	m.used.Add(-n)
	return false
}

func (m *replayMemory) give(n int64) { m.used.Add(-n) }

// prepare changes the request, which is a copy, to what goes to ReverseProxy: with its body in memory
// if that is small, so that it can be sent again, and else with a body that streams. release gives
// back the memory when nobody reads the body any more. The error is a *pool.CallerError: the client's body
// broke off.
func (g *generation) prepare(in *http.Request, body *clientBody) (release func(), err error) {
	release = func() {}
	if in.URL.Opaque != "" { // it would go out as it is, past the upstream's own path
		return nil, &pool.CallerError{Source: pool.CallerRequest, Err: errors.New("the target has neither a host nor a path")}
	}
	if in.ContentLength == 0 || in.Body == nil || in.Body == http.NoBody {
		return release, nil
	}
	in.Body = body
	room := in.ContentLength
	if room < 0 {
		room = g.set.ReplayBody
	}
	if !g.mayKeep(in) || !g.p.replay.take(room) {
		g.p.streams()
		return release, nil
	}
	release = sync.OnceFunc(func() { g.p.replay.give(room) })
	if in.ContentLength > 0 {
		err = keep(in, body)
	} else {
		err = keepLate(in, body, g.set)
		if in.Body == body.late {
			body.late.drained = release // such a stream may go on for hours
			g.p.streams()
		}
	}
	if err != nil {
		release()
		return nil, &pool.CallerError{Source: pool.CallerBody, Err: err}
	}
	return release, nil
}

// streams counts a body that isn't kept.
func (p *Proxy) streams() { p.tally.add(func(c *Counters) { c.Streamed++ }) }

// mayKeep tells whether the body may be small, and nothing speaks against reading it before the
// upstream has been heard.
func (g *generation) mayKeep(r *http.Request) bool {
	switch {
	case r.ContentLength > g.set.ReplayBody, g.set.ReplayBody == 0:
		return false
	case r.Header.Get("Expect") != "":
		return false // RFC 9110 section 10.1.1: the upstream is to say whether it wants the body
	case r.ContentLength < 0:
		// A call in both directions may wait for an answer before it sends more.
		return g.set.ReplayWait > 0 && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
	}
	return true
}

// keep reads a body of known length.
func keep(in *http.Request, body *clientBody) error {
	b := make([]byte, in.ContentLength)
	if _, err := io.ReadFull(body, b); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if n, err := body.Read(make([]byte, 1)); n > 0 || err != io.EOF { // its end starts the server's look for more
		return errors.New("the body doesn't end where its Content-Length says")
	}
	kept(in, b)
	return nil
}

// kept makes b the request's body.
func kept(in *http.Request, b []byte) {
	in.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	in.Body, _ = in.GetBody()
	switch {
	case len(in.Trailer) > 0: // they need the chunked coding, which needs an unknown length
	case len(b) == 0:
		in.ContentLength, in.TransferEncoding, in.Body, in.GetBody = 0, nil, http.NoBody, nil
	default:
		in.ContentLength, in.TransferEncoding = int64(len(b)), nil
	}
}

// A trailerBody hands the client's trailers on: they are known when its body has ended. Those that
// it hasn't announced are dropped (RFC 9110 section 6.5.1 allows it): the head is out already.
type trailerBody struct {
	io.ReadCloser
	in  *http.Request
	out http.Header
}

func (b *trailerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		for k := range b.out {
			b.out[k] = b.in.Trailer[k]
		}
	}
	return n, err
}
