package h1

import (
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/connwise/internal/wire"
)

// This file holds all calls of the caller's body. Once a request has failed or its
// answer is closed, no Read is begun, and the body is closed once. So:
//
//   - The upload enters and leaves each call under Exchange.mu, and checks stop there.
//   - It closes the body itself, so that a body without locks sees one goroutine.
//   - Only when it hangs in a Read, the one who stops it closes the body, which ends
//     the Read of a pipe, a file or a connection. If that doesn't help, the body is
//     reported as busy, and left to the goroutine.

const (
	haltGrace = 2 * time.Millisecond  // for a call of the body to end by itself
	haltWait  = 50 * time.Millisecond // for it to end once the body is closed
	writeWait = 1 * time.Second       // for a Write to end once its connection is closed
)

// enter begins a call of the body unless it's too late for it.
func (u *upload) enter() bool {
	x := u.x
	x.mu.Lock()
	defer x.mu.Unlock()
	if u.stop || u.noReads {
		return false
	}
	u.inBody = true
	x.facts.BodyTouched = x.facts.BodyTouched || !u.mem
	return true
}

// leave ends a call of the body and reports whether the upload may go on.
func (u *upload) leave() bool {
	u.x.mu.Lock()
	defer u.x.mu.Unlock()
	u.inBody = false
	return !u.stop
}

// read reads from the body. Its errors are io.EOF, errStopped and *wire.BodyError.
func (u *upload) read(p []byte) (int, error) {
	if !u.enter() {
		return 0, errStopped
	}
	n, err := u.callRead(p)
	if !u.leave() {
		return 0, errStopped
	}
	if n < 0 || n > len(p) {
		return 0, &wire.BodyError{Err: fmt.Errorf("Read returned %d with room for %d", n, len(p))}
	}
	if err != nil && err != io.EOF {
		return 0, asBodyError(err)
	}
	return n, err
}

func (u *upload) callRead(p []byte) (n int, err error) {
	returned := false
	defer func() {
		if !returned {
			err = u.unwound(recover())
		}
	}()
	n, err = u.body.Read(p)
	returned = true
	return n, err
}

// unwound makes an error of a panic. With v nil it was runtime.Goexit, and nobody
// will see the error unless the exchange fails with it here.
func (u *upload) unwound(v any) error {
	err := panicError(v)
	if v == nil {
		u.x.fail(wire.EndError, err)
	}
	return err
}

func panicError(v any) error {
	switch v := v.(type) {
	case nil:
		return &wire.BodyError{Err: errors.New("ended its goroutine")}
	case error:
		return &wire.BodyError{Err: fmt.Errorf("panic: %w", v)}
	default:
		return &wire.BodyError{Err: fmt.Errorf("panic: %v", v)}
	}
}

func asBodyError(err error) error {
	if b, ok := err.(*wire.BodyError); ok {
		return b
	}
	return &wire.BodyError{Err: err}
}

// takeClose reports whether it's the caller of takeClose who closes the body.
func (x *Exchange) takeClose() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.bodyClosed || x.req.Small != nil || x.req.Body == nil {
		return false
	}
	x.bodyClosed = true
	return true
}

// closeBody closes the body of a request that has no upload.
func (x *Exchange) closeBody() {
	if x.takeClose() {
		x.req.Body.Close() // the exchange has failed; there's nothing to add
	}
}

// closeBody closes the body, once.
func (u *upload) closeBody() (err error) {
	if !u.x.takeClose() {
		return nil
	}
	u.x.mu.Lock()
	u.inBody = true
	u.x.mu.Unlock()
	defer u.leave()
	returned := false
	defer func() {
		if !returned {
			err = u.unwound(recover())
		}
	}()
	err = u.x.req.Body.Close()
	returned = true
	if err != nil {
		return asBodyError(err)
	}
	return nil
}

// stopLocked keeps the upload from reading and writing. Exchange.mu is held.
func (u *upload) stopLocked() {
	if !u.stop {
		u.stop = true
		close(u.stopc)
	}
}

// take notes that the body was read to its end.
func (u *upload) take() {
	u.x.mu.Lock()
	u.taken = true
	u.x.mu.Unlock()
}

// halt stops the upload, whose connection is closed or has the whole request, and
// waits for its goroutine. It doesn't wait for a body that hangs, but reports it.
func (x *Exchange) halt() {
	x.mu.Lock()
	u := x.up
	if u == nil {
		x.mu.Unlock()
		return
	}
	u.stopLocked()
	x.mu.Unlock()
	if u.ends(haltGrace) {
		return
	}
	x.mu.Lock()
	inBody := u.inBody
	x.mu.Unlock()
	if !inBody {
		u.ends(writeWait)
	} else if x.takeClose() {
		go x.req.Body.Close() // it may hang like the Read
	}
	if u.ends(haltWait) {
		return
	}
	x.mu.Lock()
	u.abandoned, x.facts.BodyBusy = true, true
	x.mu.Unlock()
}

// ends waits for the goroutine to end, but not for longer than d.
func (u *upload) ends(d time.Duration) bool {
	select {
	case <-u.done:
		return true
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-u.done:
		return true
	case <-t.C:
		return false
	}
}

// lastWriteLocked reports whether an upload has only its last Write to finish, or has just
// begun. x.mu is held.
func (x *Exchange) lastWriteLocked() bool {
	u := x.up
	return u != nil && (u.taken || u.late) && !x.writeEnd && !x.ended
}

// awaitLastWrite gives such an upload a moment, so that the connection can be handed back
// with the answer.
func (x *Exchange) awaitLastWrite() {
	t := time.NewTimer(lastWriteWait)
	defer t.Stop()
	select {
	case <-x.up.sentc:
	case <-t.C:
	}
}
