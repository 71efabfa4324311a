package h1

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"time"

	"example.com/connwise/internal/wire"
)

// probeWait bounds the look whether a body of unknown length is empty.
const probeWait = 200 * time.Millisecond

var (
	errStopped = errors.New("h1: upload stopped")
	errSkipped = errors.New("h1: body not wanted")
	errNoBody  = errors.New("h1: body is empty")
)

// An upload is the goroutine that reads a request's body and writes it. It alone reads
// the body, and closes it, unless it hangs in a Read when it has to stop.
type upload struct {
	x      *Exchange
	body   io.Reader
	mem    bool          // body is Request.Small: not the caller's any more, and not to be closed
	probed chan bool     // of a probe: whether the body is empty
	begun  chan struct{} // of a probe: closed when the head is out
	gate   chan bool     // the peer's consent to send; nil if there is no waiting for it
	stopc  chan struct{} // closed with stop
	sentc  chan struct{} // closed when nothing more will be written
	done   chan struct{} // closed when the goroutine ends

	// Only the goroutine uses these.
	buf   *buffer
	large bool     // buf is a large one
	full  int      // reads that filled a buffer
	first *reading // what the probe read

	// Exchange.mu guards the following.
	stop      bool // don't read or write any more
	noReads   bool // don't read any more
	inBody    bool // a call of the body is under way
	taken     bool // the body has been read to its end, or is small and in memory
	late      bool // it was admitted when the answer was there, and so may be about to end
	abandoned bool // nobody waits for the goroutine any more: no hooks
}

// A reading is what a Read returned.
type reading struct {
	n   int
	err error
}

// alive reports whether the goroutine may still use the body. There is none in a nil upload.
func (u *upload) alive() bool {
	if u == nil {
		return false
	}
	select {
	case <-u.done:
		return false
	default:
		return true
	}
}

func (x *Exchange) newUpload() *upload {
	u := &upload{x: x, stopc: make(chan struct{}), sentc: make(chan struct{}), done: make(chan struct{})}
	if small := x.req.Small; small != nil {
		u.body, u.mem, u.taken = bytes.NewReader(small), true, len(small) <= maxInline
	} else {
		u.body = x.req.Body
	}
	if expectsContinue(&x.req, x.frame) && x.patience() > 0 {
		u.gate = make(chan bool, 1)
	}
	x.mu.Lock()
	x.up = u
	if x.ended {
		u.stopLocked()
	}
	x.mu.Unlock()
	return u
}

// startUpload starts the goroutine, or lets the probe's go on.
func (x *Exchange) startUpload() {
	if x.up != nil {
		close(x.up.begun)
		return
	}
	go x.newUpload().run()
}

// probe looks whether a body of unknown length is empty, and waits at most 200 ms for
// that: it may be a pipe whose other end waits for the answer.
func (x *Exchange) probe() error {
	u := x.newUpload()
	u.probed, u.begun = make(chan bool), make(chan struct{})
	go u.run()
	t := time.NewTimer(probeWait)
	defer t.Stop()
	select {
	case empty := <-u.probed:
		if empty {
			<-u.done
			x.mu.Lock()
			x.up = nil
			x.mu.Unlock()
			x.frame = framing{by: noBody}
		}
	case <-t.C:
	case <-u.stopc: // the exchange has failed and knows why
		return errStopped
	}
	return nil
}

func (u *upload) run() {
	u.getBuffer()
	defer u.exit()
	u.report(u.transfer())
}

// exit runs also when the body's Read ends the goroutine (runtime.Goexit).
func (u *upload) exit() {
	u.leave()
	u.closeBody()
	putBuffer(u.buffers(), u.buf)
	u.endSending()
	close(u.done)
}

// transfer sends the body when it's time.
func (u *upload) transfer() error {
	if u.probed != nil {
		if err := u.lookAhead(); err != nil {
			return err
		}
	}
	if err := u.consent(); err != nil {
		return err
	}
	switch u.x.frame.by {
	case sized:
		return u.sendSized(u.x.frame.length)
	case chunked:
		return u.sendChunked()
	}
	return u.sendRaw()
}

// lookAhead makes the probe's Read, and waits for the head to be out.
func (u *upload) lookAhead() error {
	n, err := u.read(u.room())
	if err != nil && err != io.EOF {
		return err
	}
	if n == 0 && err == io.EOF {
		if err := u.closeBody(); err != nil {
			return err
		}
		select {
		case u.probed <- true:
			return errNoBody
		case <-u.begun: // too late: the head promises a body, which is empty
			u.first = &reading{0, io.EOF}
			return nil
		case <-u.stopc:
			return errStopped
		}
	}
	u.first = &reading{n, err}
	select {
	case u.probed <- false:
	case <-u.begun:
		return nil
	case <-u.stopc:
		return errStopped
	}
	select {
	case <-u.begun:
		return nil
	case <-u.stopc:
		return errStopped
	}
}

// report tells the exchange how the upload ended.
func (u *upload) report(err error) {
	var body *wire.BodyError
	switch {
	case err == nil, err == errNoBody:
		return
	case err == errSkipped: // which is for answers that end the connection
		u.trace(nil)
		u.endSending()
		u.x.settle()
		return
	case errors.As(err, &body):
		u.x.fail(wire.EndError, err)
	case err == errStopped:
		err = cmp.Or(u.x.failure(), err)
	}
	u.trace(err)
}

// sent marks the request as sent, which may be the exchange's end.
func (u *upload) sent() {
	u.trace(nil)
	u.x.requestSent()
	u.endSending()
	u.x.settle()
}

// endSending notes that nothing more will be written.
func (u *upload) endSending() {
	u.x.mu.Lock()
	defer u.x.mu.Unlock()
	if u.x.frame.by == noBody {
		return // a probe that found nothing; the head is still to come
	}
	u.x.writeEnd = true
	select {
	case <-u.sentc:
	default:
		close(u.sentc)
	}
}

func (u *upload) trace(err error) {
	u.x.mu.Lock()
	silent := u.abandoned
	u.x.mu.Unlock()
	if !silent {
		u.x.traceWrote(err)
	}
}
