package h1

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"example.com/connwise/internal/wire"
)

// lastWriteWait is how long the end of an answer waits for an upload that has only its
// last Write to finish: the peer may answer before that has returned.
const lastWriteWait = 50 * time.Millisecond

// takeBody makes x the answer's body.
func (x *Exchange) takeBody(resp *http.Response) {
	x.wire, x.left, x.inBody = resp.Body, resp.ContentLength, true
	x.untilClose = resp.ContentLength < 0 && len(resp.TransferEncoding) == 0
	resp.Body = x
	if x.req.Gzip && !x.quiet && strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		x.gz = wire.NewGunzip(wireReader{x})
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
		resp.Uncompressed = true
	}
}

// Read reads the answer's body. It returns io.EOF after the connection has been handed
// back, http.ErrBodyReadAfterClose after Close, and once the exchange has failed, why:
// then always the same. Concurrent Reads wait for each other.
func (x *Exchange) Read(p []byte) (int, error) {
	x.rmu.Lock()
	n, err := x.readLocked(p)
	over, broken := x.over, x.broken
	x.over, x.broken = false, nil
	if x.br != nil && x.failure() != nil {
		x.dropReader()
	}
	x.rmu.Unlock()
	switch {
	case over:
		x.settle()
	case broken != nil:
		return n, x.bodyFailed(broken)
	}
	return n, err
}

// readLocked reads from the decoder or the wire. x.rmu is held.
func (x *Exchange) readLocked(p []byte) (int, error) {
	x.mu.Lock()
	closed, over, err := x.closed, x.readEnd, x.err
	x.mu.Unlock()
	switch {
	case closed:
		return 0, http.ErrBodyReadAfterClose
	case err != nil && !over:
		return 0, err
	case x.gz != nil:
		return x.gz.Read(p)
	}
	return x.readWire(p)
}

// readWire reads the body as it is framed and notes its end. x.rmu is held.
func (x *Exchange) readWire(p []byte) (int, error) {
	if x.wire == nil {
		return 0, io.EOF
	}
	n, err := x.wire.Read(p)
	if x.left > 0 {
		x.left -= int64(n)
	}
	switch {
	case err == nil:
	case err != io.EOF:
		x.broken = x.bodyError(err)
		return n, x.broken
	case x.untilClose && x.failure() != nil:
		x.broken = x.failure() // it was this side that closed
		return n, x.broken
	case x.untilClose && x.c.truncated():
		x.broken = io.ErrUnexpectedEOF // RFC 9112 section 9.8
		return n, x.broken
	default:
		x.endReading()
		x.over = true
	}
	return n, err
}

// bodyError tells the parser's complaints from the connection's. Of a trailer that was
// cut the parser tells in words of its own.
func (x *Exchange) bodyError(err error) error {
	switch {
	case x.readErr == nil, errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case x.readErr != io.EOF:
		return x.readErr
	}
	return fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
}

// wireReader is the wire for the decoder.
type wireReader struct{ x *Exchange }

func (w wireReader) Read(p []byte) (int, error) { return w.x.readWire(p) }

// endReading notes that the answer is over. x.rmu is held, or Start runs.
func (x *Exchange) endReading() {
	surplus := x.br.Buffered() > 0
	broken := x.readErr != nil // an end, or what came with the answer's last bytes
	x.dropReader()
	x.mu.Lock()
	if x.alarms != nil {
		x.alarms.rstall.offLocked() // of a drain
	}
	if x.lastWriteLocked() {
		x.mu.Unlock()
		x.awaitLastWrite()
		x.mu.Lock()
	}
	x.readEnd = true
	x.surplus = surplus
	if broken {
		x.keep = false
	}
	x.mu.Unlock()
}

// bodyFailed ends the exchange over a broken read, and returns the first cause.
func (x *Exchange) bodyFailed(err error) error {
	x.failNow(wire.EndError, err)
	return x.failure()
}

// dropReader gives the buffer back. x.rmu is held, or Start runs.
func (x *Exchange) dropReader() {
	if x.br != nil {
		putReader(x.br)
	}
	x.br, x.wire = nil, nil
}

// dropGzip gives the decoder back. x.rmu is held.
func (x *Exchange) dropGzip() {
	if x.gz != nil {
		x.gz.Drop(io.EOF)
	}
}

// A sizedBody is an exchange as the reader of a body with a Content-Length.
type sizedBody Exchange

// Read reads from the body and returns io.EOF with its last bytes. readWire counts them.
func (s *sizedBody) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.br.Read(p[:min(int64(len(p)), s.left)])
	switch {
	case int64(n) == s.left:
		return n, io.EOF
	case err == io.EOF:
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// Close is never called: the exchange is the body that a caller has.
func (s *sizedBody) Close() error { return nil }
