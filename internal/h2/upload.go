package h2

import (
	"cmp"
	"errors"
	"io"
	"sync"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// An upload is the goroutine that reads a request's body and offers it to the connection. It
// begins when the header section is out, so that a body is untouched as long as nothing was
// sent.
type upload struct {
	x      *Exchange
	length int64 // -1: unknown
	body   *wire.Body
	taken  chan struct{} // the connection has taken what was offered
	sentc  chan struct{} // closed when the whole request was accepted

	// Guarded by Conn.mu.
	begun   bool
	stopped bool
}

const uploadBuffer = 256 << 10

var uploadBuffers = sync.Pool{New: func() any { return new([uploadBuffer]byte) }}

var errLateHook = errors.New("h2: upload ended")

func newUpload(x *Exchange, length int64) *upload {
	u := &upload{x: x, length: length, taken: make(chan struct{}, 1), sentc: make(chan struct{})}
	rc := x.req.Body
	if x.req.Small != nil {
		rc = io.NopCloser(&memory{x.req.Small})
	}
	if rc == nil {
		rc = io.NopCloser(&memory{})
	}
	u.body = wire.NewBody(rc)
	return u
}

// memory reads from a slice.
type memory struct{ p []byte }

func (m *memory) Read(p []byte) (int, error) {
	if len(m.p) == 0 {
		return 0, io.EOF
	}
	n := copy(p, m.p)
	m.p = m.p[n:]
	return n, nil
}

// begin starts the goroutine, once. Conn.mu is held.
func (u *upload) begin() {
	if !u.begun && !u.stopped {
		u.begun = true
		go u.run()
	}
}

// stop keeps the goroutine from reading and offering. Conn.mu is held.
func (u *upload) stop() {
	if u != nil && !u.stopped {
		u.stopped = true
		u.body.Stop()
	}
}

// take tells that what was offered has been taken. Conn.mu is held.
func (u *upload) take() {
	if u != nil {
		select {
		case u.taken <- struct{}{}:
		default:
		}
	}
}

// sent tells that the request is out. Conn.mu is held.
func (u *upload) sent() { close(u.sentc) }

// halt stops the goroutine and waits for it, not long.
func (u *upload) halt() {
	if u == nil {
		return
	}
	u.x.c.mu.Lock()
	u.stop()
	begun := u.begun
	u.x.c.mu.Unlock()
	if begun {
		u.body.Halt()
	}
}

// abandon closes the body if no goroutine ever will, as the upload has been stopped, or isn't
// wanted.
func (u *upload) abandon() {
	if u == nil {
		return
	}
	u.x.c.mu.Lock()
	begun := u.begun
	u.x.c.mu.Unlock()
	if !begun {
		u.body.Close(func(error) {})
	}
}

func (u *upload) touched() (touched, busy bool) {
	if u == nil || u.x.req.Small != nil {
		return false, false
	}
	return u.body.Touched()
}

func (u *upload) run() {
	defer u.body.End(u.gone)
	err := u.transfer()
	if err == nil {
		err = u.awaitSent()
	}
	if body, ok := errors.AsType[*wire.BodyError](err); ok {
		u.gone(body)
	}
	if !errors.Is(err, wire.ErrStopped) {
		u.x.traceWrote(err)
		return
	}
	if _, busy := u.body.Touched(); !busy {
		u.x.traceWrote(cmp.Or(u.x.failure(), errLateHook))
	}
}

// gone fails the exchange for what the body has done.
func (u *upload) gone(err error) {
	c := u.x.c
	c.mu.Lock()
	if c.failLocked(u.x, wire.EndError, err, http2.ErrCodeCancel) {
		u.x.dropBodyLocked()
		u.x.poke()
	}
	c.writeAndUnlock()
}

func (x *Exchange) failure() error {
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	return x.err
}

// transfer sends the body.
func (u *upload) transfer() error {
	buf := uploadBuffers.Get().(*[uploadBuffer]byte)
	defer uploadBuffers.Put(buf)
	return u.copy(buf[:])
}

// copy sends the body piece by piece, and never more than was promised. END_STREAM follows
// only when it's known that the body was as long as it said.
func (u *upload) copy(buf []byte) error {
	var sum int64
	for {
		n, err := u.body.Read(buf, u.gone)
		if err != nil && err != io.EOF {
			return err
		}
		sum += int64(n)
		if u.length >= 0 && (sum > u.length || err == io.EOF && sum < u.length) {
			return wire.LengthError(u.length, sum)
		}
		if err == io.EOF {
			return u.finish(buf[:n])
		}
		if err := u.offer(buf[:n], false); err != nil {
			return err
		}
	}
}

// finish closes the body, which may still set trailers, or fail, and sends the last piece.
func (u *upload) finish(p []byte) error {
	if err := u.body.Close(u.gone); err != nil {
		return err
	}
	if u.x.trailers {
		s := newSection()
		fieldWriter{fieldList: s.fieldList}.writeTrailer(u.x.req.Trailer)
		u.x.c.mu.Lock()
		u.x.fields = s
		u.x.c.mu.Unlock()
	}
	return u.offer(p, true)
}

// offer has p sent and returns when it has been copied, not when it is out.
func (u *upload) offer(p []byte, last bool) error {
	if len(p) == 0 && !last {
		return nil
	}
	c := u.x.c
	c.mu.Lock()
	if u.stopped || u.x.state != stateOpen {
		c.mu.Unlock()
		return wire.ErrStopped
	}
	c.offerLocked(u.x, p, last)
	c.writeAndUnlock()
	select {
	case <-u.taken:
		return nil
	case <-u.body.Stopped():
		return wire.ErrStopped
	}
}

func (u *upload) awaitSent() error {
	select {
	case <-u.sentc:
		return nil
	case <-u.body.Stopped():
	}
	select {
	case <-u.sentc: // the stop came with the end of the exchange
		return nil
	default:
		return wire.ErrStopped
	}
}
