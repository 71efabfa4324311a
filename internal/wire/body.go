package wire

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	haltGrace = 2 * time.Millisecond  // for a call of the body to end by itself
	haltWait  = 50 * time.Millisecond // for it to end once the body is closed
)

// ErrStopped is what a Body's Read returns when nobody wants to send it any more.
var ErrStopped = errors.New("upload stopped")

// A Body is a request's body while one goroutine reads and sends it. It keeps the contract
// with the caller: once the request has failed or its answer is closed, no Read is begun, and
// the body is closed once. So each call of the body is entered and left under a lock, and a
// stop is checked for there; the goroutine closes the body itself, so that a body without
// locks sees one goroutine; and only when it hangs in a Read, the one who stops it closes it,
// which ends the Read of a pipe, a file or a connection. If that doesn't help, the body is
// reported as busy, and left to the goroutine.
type Body struct {
	rc    io.ReadCloser
	stopc chan struct{} // closed with stop
	done  chan struct{} // closed when the goroutine ends

	mu      sync.Mutex // guards the following; nothing is called under it
	stop    bool       // no call of the body any more, and nothing to be sent
	noReads bool       // no Read any more
	inCall  bool
	closed  bool // Close was called, or is about to be
	touched bool
	busy    bool // nobody waits for the goroutine any more
}

// NewBody makes a Body of rc.
func NewBody(rc io.ReadCloser) *Body {
	return &Body{rc: rc, stopc: make(chan struct{}), done: make(chan struct{})}
}

func (b *Body) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop || b.noReads {
		return false
	}
	b.inCall, b.touched = true, true
	return true
}

func (b *Body) leave() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inCall = false
	return !b.stop
}

// Read reads from the body. Its errors are io.EOF, ErrStopped and *BodyError. If the body ends
// its goroutine (runtime.Goexit), gone is told why nobody will get an error.
func (b *Body) Read(p []byte, gone func(error)) (int, error) {
	if !b.enter() {
		return 0, ErrStopped
	}
	n, err := guarded(func() (int, error) { return b.rc.Read(p) }, gone)
	if !b.leave() {
		return 0, ErrStopped
	}
	if n < 0 || n > len(p) {
		return 0, &BodyError{fmt.Errorf("Read returned %d with room for %d", n, len(p))}
	}
	if err != nil && err != io.EOF {
		return 0, asBodyError(err)
	}
	return n, err
}

// Close closes the body, unless that was done. Only the goroutine calls it.
func (b *Body) Close(gone func(error)) error {
	if !b.takeClose() {
		return nil
	}
	b.mu.Lock()
	b.inCall = true
	b.mu.Unlock()
	defer b.leave()
	_, err := guarded(func() (int, error) { return 0, b.rc.Close() }, gone)
	if err != nil {
		return asBodyError(err)
	}
	return nil
}

// guarded calls f, which is the caller's, and makes an error of a panic.
func guarded(f func() (int, error), gone func(error)) (n int, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		n, err = 0, panicError(v)
		if v == nil {
			gone(err)
		}
	}()
	n, err = f()
	returned = true
	return n, err
}

func panicError(v any) error {
	switch v := v.(type) {
	case nil:
		return &BodyError{errors.New("ended its goroutine")}
	case error:
		return &BodyError{fmt.Errorf("panic: %w", v)}
	default:
		return &BodyError{fmt.Errorf("panic: %v", v)}
	}
}

func asBodyError(err error) error {
	if b, ok := err.(*BodyError); ok {
		return b
	}
	return &BodyError{err}
}

func (b *Body) takeClose() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.closed
	b.closed = true
	return first
}

// Stop keeps the goroutine from calling the body's Read. It doesn't wait.
func (b *Body) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.stop {
		b.stop = true
		close(b.stopc)
	}
}

// Stopped returns a channel that is closed by Stop.
func (b *Body) Stopped() <-chan struct{} { return b.stopc }

// End is the goroutine's last call. It closes the body.
func (b *Body) End(gone func(error)) {
	b.leave()
	b.Close(gone)
	close(b.done)
}

// Ended returns a channel that is closed when the goroutine has ended.
func (b *Body) Ended() <-chan struct{} { return b.done }

// Halt stops the goroutine and waits for it, but at most 50 ms for a body that hangs.
func (b *Body) Halt() {
	b.Stop()
	if b.ends(haltGrace) {
		return
	}
	b.mu.Lock()
	inCall := b.inCall
	b.mu.Unlock()
	if inCall && b.takeClose() {
		go b.rc.Close() // it may hang like the Read
	}
	if b.ends(haltWait) {
		return
	}
	b.mu.Lock()
	b.busy = true
	b.mu.Unlock()
}

func (b *Body) ends(d time.Duration) bool {
	select {
	case <-b.done:
		return true
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-b.done:
		return true
	case <-t.C:
		return false
	}
}

// Touched reports whether Read was called, and whether a call was under way that couldn't be
// ended.
func (b *Body) Touched() (touched, busy bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.touched, b.busy
}
