package h1

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

func TestCancelDuringTheBodysWrite(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
		r := newRig(t, Options{})
		r.nc.SetBuffer(len(postHead) + 10)
		b := newBody(t, strings.Repeat("x", 100))
		req, cancel, cause := with(post(t, b))
		a := r.start(req)
		synctest.Wait()
		start := time.Now()
		cancel()
		a.failsWith(cause)
		elapsed(t, start, 0)
		a.wantFacts(wire.Facts{Sent: int64(len(postHead) + 10), BodyTouched: true})
		b.wantClosed()
	})
}

// A lateWriter is a connection whose Write, once the head is out, succeeds when it may.
type lateWriter struct {
	net.Conn
	began, may chan struct{}
	writes     int
}

func (l *lateWriter) Write(p []byte) (int, error) {
	if l.writes++; l.writes > 1 {
		l.began <- struct{}{}
		<-l.may
		return len(p), nil
	}
	return l.Conn.Write(p)
}

// TestNoReadBeginsAfterACancel: the Write that was under way goes well nevertheless.
func TestNoReadBeginsAfterACancel(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
		r := newRig(t, Options{})
		l := &lateWriter{Conn: r.nc, began: make(chan struct{}, 9), may: make(chan struct{})}
		r.c = NewConn(l, &Options{})
		b := newBody(t, "")
		b.r = &pieces{p: []string{"one", "two"}}
		req, cancel, cause := with(post(t, b))
		a := r.start(req)
		<-l.began
		cancel()
		synctest.Wait()
		close(l.may)
		a.failsWith(cause)
		if b.reads != 1 {
			t.Errorf("%d reads, want 1", b.reads)
		}
		b.wantClosed()
		a.wantFacts(wire.Facts{Sent: int64(len(postHead + chunkOf("one"))), BodyTouched: true})
	})
}

// TestNoWriteBeginsAfterACancel: the Read that was under way goes well nevertheless.
func TestNoWriteBeginsAfterACancel(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
		r := newRig(t, Options{})
		l := &lateWriter{Conn: r.nc, began: make(chan struct{}, 9), may: make(chan struct{})}
		close(l.may)
		r.c = NewConn(l, &Options{})
		may := make(chan struct{})
		b := newBody(t, "")
		b.r = readerFunc(func([]byte) (int, error) { <-may; return 3, io.EOF })
		req, cancel, cause := with(post(t, b))
		a := r.start(req)
		r.hears(postHead)
		synctest.Wait()
		cancel()
		time.AfterFunc(haltGrace/2, func() { close(may) })
		a.failsWith(cause)
		if l.writes > 1 {
			t.Error("a Write began")
		}
		b.wantClosed()
		a.wantFacts(wire.Facts{Sent: int64(len(postHead)), BodyTouched: true})
	})
}

func TestCancelDuringTheBodysRead(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
		r := newRig(t, Options{})
		pr, pw := io.Pipe()
		req, cancel, cause := with(post(t, pr))
		a := r.start(req)
		r.hears(postHead)
		synctest.Wait()
		start := time.Now()
		cancel()
		a.failsWith(cause)
		elapsed(t, start, haltGrace)
		a.wantFacts(wire.Facts{Sent: int64(len(postHead)), BodyTouched: true})
		if _, err := pw.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("the pipe is open: %v", err)
		}
	})
}

// stuck is a body whose Read doesn't end with Close.
type stuck struct {
	release chan struct{}
	reads   int
	closed  chan struct{}
}

func (s *stuck) Read([]byte) (int, error) { s.reads++; <-s.release; return 1, nil }
func (s *stuck) Close() error             { close(s.closed); return nil }

func TestStuckBodyIsReportedBusy(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
		r := newRig(t, Options{})
		b := &stuck{release: make(chan struct{}), closed: make(chan struct{})}
		req, cancel, cause := with(post(t, b))
		a := r.start(req)
		r.hears(postHead)
		synctest.Wait()
		start := time.Now()
		cancel()
		a.failsWith(cause)
		elapsed(t, start, haltGrace+haltWait)
		<-b.closed // before Start returned; a second Close would panic
		a.wantFacts(wire.Facts{Sent: int64(len(postHead)), BodyTouched: true, BodyBusy: true})
		close(b.release)
		<-a.x.up.done
		if b.reads != 1 {
			t.Errorf("%d reads", b.reads)
		}
	})
}
