package h1

import (
	"io"
	"net/http/httptrace"
	"strconv"
	"time"

	"example.com/connwise/internal/wire"
)

const (
	stallPiece = 16 << 10        // so much is written at a time under a write stall limit
	answerWait = 1 * time.Second // for an answer after a write has failed
)

// send writes the request, or its head and leaves the body to a goroutine. It fails
// if no answer can come: with a byte sent, one may.
func (x *Exchange) send() error {
	var err error
	if x.frame, err = frame(&x.req); err != nil {
		return err
	}
	if x.frame.probe {
		if err := x.probe(); err != nil {
			return err
		}
	}
	x.out = getBuffer(&heads, x.c.opt.headBuffer())
	defer x.dropOut()
	if x.out.b, err = appendHead(x.out.b, &x.req, x.frame, x.trace); err != nil {
		return err
	}
	x.expects = expectsContinue(&x.req, x.frame)
	x.gated = x.expects && x.patience() > 0
	if x.req.Look && (x.streams() || !x.mergeable()) && !x.c.glance() {
		return wire.ErrStale
	}
	if x.streams() {
		return x.sendHead(x.out.b)
	}
	return x.sendInline()
}

// dropOut gives the head's buffer back.
func (x *Exchange) dropOut() {
	if x.out != nil {
		putBuffer(&heads, x.out)
		x.out = nil
	}
}

// count notes that the connection has accepted n bytes.
func (x *Exchange) count(n int) {
	x.mu.Lock()
	x.facts.Sent += int64(n)
	x.mu.Unlock()
}

// sentAll notes that the connection has accepted the request, n bytes, at once.
func (x *Exchange) sentAll(n int) {
	x.mu.Lock()
	x.facts.Sent += int64(n)
	x.requestSentLocked()
	x.mu.Unlock()
}

func (o *Options) headBuffer() int {
	if o.WriteBufferSize > 0 {
		return o.WriteBufferSize
	}
	return defaultBuffer
}

// streams reports whether the body has a goroutine of its own.
func (x *Exchange) streams() bool {
	if x.frame.by == noBody {
		return false
	}
	return x.req.Small == nil || len(x.req.Small) > maxInline || x.gated
}

// sendInline writes head and body at once.
func (x *Exchange) sendInline() error {
	buf := x.out
	switch x.frame.by {
	case sized:
		buf.b = append(buf.b, x.req.Small...)
	case chunked:
		buf.b = appendChunk(buf.b, x.req.Small)
		buf.b = appendLastChunk(buf.b, &x.req)
	}
	if x.mergeable() {
		return x.sendMerged(buf.b)
	}
	return x.sendPlain(buf.b)
}

// sendPlain writes p, the rest of the request.
func (x *Exchange) sendPlain(p []byte) error {
	if err := x.write(p); err != nil {
		x.traceWrote(err)
		return x.writeFailed(err)
	}
	x.traceHead()
	x.traceWrote(nil)
	x.requestSent()
	return nil
}

// sendHead writes the head alone, so that the peer can answer it, or the caller's body
// may wait for the answer, and starts the upload.
func (x *Exchange) sendHead(head []byte) error {
	if err := x.write(head); err != nil {
		x.traceWrote(err)
		err = x.writeFailed(err)
		x.halt() // a probe's goroutine
		x.closeBody()
		return err
	}
	x.traceHead()
	x.startUpload()
	return nil
}

// write gives p to the connection and counts what it takes.
func (x *Exchange) write(p []byte) error {
	stall := x.c.opt.WriteStall
	for len(p) > 0 {
		piece := p
		if stall > 0 {
			piece = p[:min(len(p), stallPiece)]
			x.mu.Lock()
			x.timeoutLocked(&x.alarmsLocked().wstall, stall, wire.WhatWriteStall)
			x.mu.Unlock()
		}
		n, err := x.c.nc.Write(piece)
		n = max(0, min(n, len(piece)))
		if err == nil && n < len(piece) {
			err = io.ErrShortWrite
		}
		x.mu.Lock()
		if stall > 0 {
			x.alarms.wstall.offLocked()
		}
		x.facts.Sent += int64(n)
		x.mu.Unlock()
		p = p[n:]
		if err != nil && len(p) > 0 {
			return err
		}
	}
	return nil
}

// writeFailed ends the request's half. It returns the error if nothing was accepted.
// Otherwise the peer may have answered before it closed: that is worth a short wait,
// and nil is returned.
func (x *Exchange) writeFailed(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.writeEnd, x.writeErr = true, err
	if x.facts.Sent == 0 {
		return err
	}
	if !x.ended && !x.headDone {
		x.setLocked(&x.alarmsLocked().head, answerWait, wire.EndError, err)
	}
	return nil
}

// requestSent marks the whole request as accepted.
func (x *Exchange) requestSent() {
	x.mu.Lock()
	x.requestSentLocked()
	x.mu.Unlock()
}

func (x *Exchange) requestSentLocked() {
	x.facts.AllSent, x.writeEnd = true, true
	if d := x.req.ReadLimit(x.c.opt.HeaderTimeout); d > 0 && !x.headDone && !x.ended {
		x.timeoutLocked(&x.alarmsLocked().head, d, wire.WhatHeader)
	}
}

func (x *Exchange) traceHead() {
	if x.trace == nil {
		return
	}
	if x.trace.WroteHeaders != nil {
		x.trace.WroteHeaders()
	}
	if x.expects && x.trace.Wait100Continue != nil {
		x.trace.Wait100Continue()
	}
}

func (x *Exchange) traceWrote(err error) {
	if x.trace != nil && x.trace.WroteRequest != nil {
		x.trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
}

// appendChunk appends p as a chunk (RFC 9112 section 7.1), and nothing for an empty
// one, which would end the body.
func appendChunk(b, p []byte) []byte {
	if len(p) == 0 {
		return b
	}
	b = strconv.AppendUint(b, uint64(len(p)), 16)
	b = append(b, "\r\n"...)
	b = append(b, p...)
	return append(b, "\r\n"...)
}

// appendLastChunk appends the end of a chunked body with r's trailer section.
func appendLastChunk(b []byte, r *wire.Request) []byte {
	w := headWriter{buf: append(b, "0\r\n"...)}
	w.fields(r.Trailer, sortedKeys(nil, r.Trailer))
	return append(w.buf, "\r\n"...)
}
