package h2

import (
	"io"
	"net/http"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// decode has the answer's body decoded on the way.
func (x *Exchange) decode() {
	x.gz = wire.NewGunzip(rawBody{x})
	r := &x.resp
	r.Header.Del("Content-Encoding")
	r.Header.Del("Content-Length")
	r.ContentLength = -1
	r.Uncompressed = true
}

// rawBody is the body as the peer sends it.
type rawBody struct{ x *Exchange }

func (b rawBody) Read(p []byte) (int, error) { return b.x.readRaw(p) }

// Read reads the answer's body. It returns http.ErrBodyReadAfterClose after Close. If the
// peer has ended the stream, or the connection failed, it returns what had come before, and
// then why; after a cancel, why at once. Errors are sticky. Concurrent Reads wait for each
// other.
func (x *Exchange) Read(p []byte) (int, error) {
	x.rmu.Lock()
	defer x.rmu.Unlock()
	if x.gz == nil {
		return x.readRaw(p)
	}
	if err := x.stopped(); err != nil {
		return 0, err
	}
	return x.gz.Read(p)
}

// stopped returns why nothing more is to be read, whatever has come; nil if there's no reason.
func (x *Exchange) stopped() error {
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	switch {
	case x.closed:
		return http.ErrBodyReadAfterClose
	case x.err != nil && x.body.first == nil && !x.peerEnd:
		return x.err
	}
	return nil
}

// readRaw reads from what has come, and waits if there is nothing. x.rmu is held.
func (x *Exchange) readRaw(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, err := x.readNow(p)
		if n > 0 || err != nil {
			return n, err
		}
		x.wait()
	}
}

// readNow reads what has come.
func (x *Exchange) readNow(p []byte) (n int, err error) {
	c := x.c
	c.mu.Lock()
	defer c.writeAndUnlock()
	if x.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	n = x.body.read(p)
	if n > 0 {
		x.creditReadLocked(int32(n))
		return n, nil
	}
	switch {
	case x.err != nil:
		return 0, x.err
	case x.peerEnd:
		x.takeTrailer(x.trailer)
		x.trailer = nil
		return 0, io.EOF
	}
	return 0, nil
}

// creditReadLocked gives the credit of n bytes back that were read.
func (x *Exchange) creditReadLocked(n int32) {
	x.c.unreadLocked(n)
	if x.inflow.refund(n) {
		x.c.creditStreamLocked(x)
	}
}

// wait waits until something has happened.
func (x *Exchange) wait() {
	stall := x.req.ReadLimit(x.c.opt.ReadStall)
	if stall == 0 {
		<-x.wake
		return
	}
	t := time.NewTimer(stall)
	defer t.Stop()
	select {
	case <-x.wake:
	case <-t.C:
		x.cancel(wire.EndTimeout, &wire.TimeoutError{What: wire.WhatReadStall, After: stall})
	}
}

// Close ends the exchange if it isn't over: the peer is told that the rest of the answer isn't
// wanted, and nobody waits for that. An upload is stopped. A Read under way ends with
// http.ErrBodyReadAfterClose. Later calls do nothing. It returns nil.
func (x *Exchange) Close() error {
	c := x.c
	if c == nil {
		return nil
	}
	c.mu.Lock()
	first := !x.closed
	x.closed = true
	if first {
		x.dropBodyLocked()
		why := wire.EndUnread
		if x.peerEnd {
			why = wire.EndUpload
		}
		if !x.wholeLocked() {
			c.failLocked(x, why, http.ErrBodyReadAfterClose, http2.ErrCodeCancel)
		}
		x.poke()
	}
	c.writeAndUnlock()
	if !first {
		return nil
	}
	x.unwatch()
	x.up.halt()
	x.up.abandon()
	if x.rmu.TryLock() {
		if x.gz != nil {
			x.gz.Drop(http.ErrBodyReadAfterClose)
		}
		x.rmu.Unlock()
	}
	return nil
}
