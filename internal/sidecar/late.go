package sidecar

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A clientBody is a request's body as the server gives it. It is read by one goroutine at a time.
type clientBody struct {
	from    io.ReadCloser
	reading atomic.Bool
	ended   atomic.Bool // by its end, or an error
	late    *lateBody   // the one who reads in advance, if there is one
}

func newClientBody(r *http.Request) *clientBody {
	b := &clientBody{from: r.Body}
	b.ended.Store(r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody)
	return b
}

func (b *clientBody) Read(p []byte) (int, error) {
	b.reading.Store(true)
	defer b.reading.Store(false)
	n, err := b.from.Read(p)
	if err != nil {
		b.ended.Store(true)
	}
	return n, err
}

// Close does nothing: the server closes the body.
func (b *clientBody) Close() error { return nil }

// restWait is how long the server reads on after an answer that came before the request's end, for
// the sake of clients that read nothing until they have sent all.
const restWait = 2 * time.Second

// abandon is called when the handler is about to return. A Read that is under way nevertheless, as
// the answer came before the body, is ended: nobody may read behind the return.
func (b *clientBody) abandon(c *http.ResponseController) {
	if b.late != nil {
		b.late.stop()
	}
	if b.ended.Load() {
		return
	}
	if !b.reading.Load() {
		_ = c.SetReadDeadline(time.Now().Add(restWait)) // without it the server waits for ever
		return
	}
	if c.SetReadDeadline(time.Unix(1, 0)) != nil {
		return
	}
	if b.late != nil {
		<-b.late.stopped
	}
}

// keepLate reads a body of unknown length. If that doesn't end within set's ReplayWait and
// ReplayBody, it becomes a body that streams: what was read, and then the rest.
func keepLate(in *http.Request, body *clientBody, set *Settings) error {
	l := &lateBody{from: body, limit: int(set.ReplayBody), stopped: make(chan struct{})}
	l.more.L = &l.mu
	body.late = l
	go l.advance()
	timer := time.NewTimer(set.ReplayWait)
	defer timer.Stop()
	select {
	case <-l.stopped:
	case <-timer.C:
		l.stop()
	}
	b, whole, err := l.result()
	switch {
	case whole:
		kept(in, b)
	case err != nil:
		return err
	default:
		in.Body = l
	}
	return nil
}

// A lateBody is read in advance by a goroutine, until limit, its end, or stop, whose last Read may
// go on for a while; and by Read, which returns what that has read first.
type lateBody struct {
	from    *clientBody
	limit   int
	stopped chan struct{} // closed when advance has returned
	drained func()        // called by Read when buf is empty and stays so; set before the first Read

	mu   sync.Mutex
	more sync.Cond // something was added to buf, or advance is about to return
	buf  []byte
	err  error // from from
	halt bool  // advance is not to read on
	done bool  // it won't
}

// advance reads until there is no need to.
func (l *lateBody) advance() {
	defer close(l.stopped)
	p := make([]byte, min(4<<10, l.limit+1))
	for again := true; again; {
		n, err := l.from.Read(p)
		again = l.add(p[:n], err)
	}
}

func (l *lateBody) add(p []byte, err error) (again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	l.err = err
	l.done = err != nil || l.halt || len(l.buf) > l.limit
	l.more.Broadcast()
	return !l.done
}

// stop has advance return after the Read that is under way.
func (l *lateBody) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.halt = true
}

// result returns what was read, and whether that is all; or how the body broke off.
func (l *lateBody) result() (b []byte, whole bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil || l.err == io.EOF {
		return l.buf, l.err == io.EOF && len(l.buf) <= l.limit, nil
	}
	return nil, false, l.err
}

// Read returns what was read in advance, and then reads on.
func (l *lateBody) Read(p []byte) (int, error) {
	l.mu.Lock()
	for len(l.buf) == 0 && !l.done {
		l.more.Wait()
	}
	if len(l.buf) > 0 {
		n := copy(p, l.buf)
		l.buf = l.buf[n:]
		l.mu.Unlock()
		return n, nil
	}
	err := l.err
	l.buf = nil
	l.mu.Unlock()
	l.drained()
	if err != nil {
		return 0, err
	}
	return l.from.Read(p)
}

// Close does nothing: see clientBody.
func (l *lateBody) Close() error { return nil }
