package h1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// cancels are the ways to cancel a request, and the error that each gives.
var cancels = map[string]func(req Request) (Request, func(), error){
	"context": func(req Request) (Request, func(), error) {
		ctx, cancel := context.WithCancelCause(req.Context())
		req.Request = req.WithContext(ctx)
		return req, func() { cancel(errOwn) }, errOwn
	},
	"Cancel": func(req Request) (Request, func(), error) {
		c := make(chan struct{})
		req.Request.Cancel = c //lint:ignore SA1019 http.Client.Timeout sets it
		return req, func() { close(c) }, errCanceled
	},
}

func eachCancel(t *testing.T, f func(t *testing.T, with func(Request) (Request, func(), error))) {
	for name, with := range cancels {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, with) })
		})
	}
}

func TestCancelBeforeTheHead(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(Request) (Request, func(), error)) {
		for _, answer := range []string{"", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-"} {
			r := newRig(t, Options{})
			r.nc.IgnoreDeadlines()
			req, cancel, cause := with(get(t))
			a := r.start(req)
			r.hearsHead()
			r.says(answer)
			synctest.Wait()
			start := time.Now()
			cancel()
			if err := a.fails(); !errors.Is(err, cause) {
				t.Errorf("err = %v, want %v", err, cause)
			}
			elapsed(t, start, 0)
			a.wantFacts(Facts{Sent: int64(len(getHead)), AllSent: true, Answered: answer != ""})
			r.wantClosed()
		}
	})
}

func TestCancelDuringTheHeadsWrite(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(Request) (Request, func(), error)) {
		for _, took := range []int{0, 10} {
			r := newRig(t, Options{})
			r.nc.SetBuffer(took)
			b := newBody(t, "abc")
			req, cancel, cause := with(post(t, b))
			a := r.start(req)
			synctest.Wait()
			cancel()
			a.failsWith(cause)
			a.wantFacts(Facts{Sent: int64(took)})
			if b.reads > 0 {
				t.Error("the body was read")
			}
			b.wantClosed()
		}
	})
}

func TestCancelDuringTheBodysWrite(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(Request) (Request, func(), error)) {
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
		a.wantFacts(Facts{Sent: int64(len(postHead) + 10), BodyTouched: true})
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
	eachCancel(t, func(t *testing.T, with func(Request) (Request, func(), error)) {
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
		a.wantFacts(Facts{Sent: int64(len(postHead + chunkOf("one"))), BodyTouched: true})
	})
}

func TestCancelDuringTheBodysRead(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(Request) (Request, func(), error)) {
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
		a.wantFacts(Facts{Sent: int64(len(postHead)), BodyTouched: true})
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
	eachCancel(t, func(t *testing.T, with func(Request) (Request, func(), error)) {
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
		a.wantFacts(Facts{Sent: int64(len(postHead)), BodyTouched: true, BodyBusy: true})
		close(b.release)
		<-a.x.up.done
		if b.reads != 1 {
			t.Errorf("%d reads", b.reads)
		}
	})
}

func TestCancelDuringAProbe(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(Request) (Request, func(), error)) {
		r := newRig(t, Options{})
		pr, pw := io.Pipe()
		defer pw.Close()
		req, cancel, cause := with(Request{Request: request(t, "GET", pr)})
		a := r.start(req)
		synctest.Wait()
		start := time.Now()
		cancel()
		a.failsWith(cause)
		elapsed(t, start, haltGrace)
		a.wantFacts(Facts{BodyTouched: true})
	})
}

func TestCancelBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		b := newBody(t, "abc")
		req, cancel, cause := cancels["context"](post(t, b))
		cancel()
		a := r.start(req)
		a.failsWith(cause)
		a.wantFacts(Facts{})
		b.wantClosed()
		r.hearsEnd()
	})
}

func TestCancelDuringTheAnswersBody(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(Request) (Request, func(), error)) {
		for _, end := range []string{"Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", ""} {
			r := newRig(t, Options{})
			req, cancel, cause := with(get(t))
			a := r.start(req)
			r.hearsHead()
			r.says("HTTP/1.1 200 OK\r\n" + end + "\r\n")
			a.answer(200)
			read := make(chan error)
			go func() { _, err := a.resp.Body.Read(make([]byte, 1)); read <- err }()
			synctest.Wait()
			cancel()
			if err := <-read; !errors.Is(err, cause) {
				t.Errorf("%q: Read: %v, want %v", end, err, cause)
			}
			a.wantEnd(EndCancelled)
			if _, err := a.resp.Body.Read(make([]byte, 1)); !errors.Is(err, cause) {
				t.Errorf("%q: second Read: %v", end, err)
			}
			a.resp.Body.Close()
			r.wantClosed()
		}
	})
}

// TestCancelFreesWhatNobodyReadsOrCloses: the slot must not depend on the caller.
func TestCancelFreesWhatNobodyReadsOrCloses(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(Request) (Request, func(), error)) {
		r := newRig(t, Options{})
		req, cancel, _ := with(get(t))
		a := r.start(req)
		r.hearsHead()
		r.says("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n")
		a.answer(200)
		cancel()
		a.wantEnd(EndCancelled)
		r.wantClosed()
		synctest.Wait()
		if a.x.br != nil {
			t.Error("the buffer wasn't given back")
		}
	})
}

// closeEOF is a connection whose Read returns io.EOF after its own Close.
type closeEOF struct{ net.Conn }

func (c closeEOF) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, net.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

func TestCancelIsNotTheEndOfABody(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(Request) (Request, func(), error)) {
		r := newRig(t, Options{})
		r.c = NewConn(closeEOF{r.nc}, &Options{})
		req, cancel, cause := with(get(t))
		a := r.start(req)
		r.hearsHead()
		r.says("HTTP/1.1 200 OK\r\n\r\npart")
		a.answer(200)
		time.AfterFunc(time.Second, cancel)
		if b, err := io.ReadAll(a.resp.Body); !errors.Is(err, cause) {
			t.Errorf("read %q, %v; want %v", b, err, cause)
		}
	})
}

func TestCancelDuringAnUploadBehindTheAnswer(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(Request) (Request, func(), error)) {
		r := newRig(t, Options{})
		pr, pw := io.Pipe()
		req, cancel, _ := with(post(t, pr))
		a := r.start(req)
		r.hears(postHead)
		r.says(ok5)
		a.answer(200)
		a.reads("hello")
		cancel()
		a.wantEnd(EndCancelled)
		a.reads("") // the answer was whole
		time.Sleep(2 * haltGrace)
		if _, err := pw.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("the pipe is open: %v", err)
		}
	})
}

func TestCancelAfterTheEndDoesNothing(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(Request) (Request, func(), error)) {
		r := newRig(t, Options{})
		req, cancel, _ := with(get(t))
		a := r.start(req)
		r.hearsHead()
		r.says(ok5)
		a.answer(200)
		a.reads("hello")
		a.wantEnd(EndKept)
		cancel()
		synctest.Wait()
		r.serves()
	})
}

// TestCancelRacesWithTheEnd: whichever wins, the outcome is one of two, and a kept
// connection works.
func TestCancelRacesWithTheEnd(t *testing.T) {
	for i := range 300 {
		r := newRig(t, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		a := r.start(Request{Request: request(t, "GET", nil).WithContext(ctx)})
		r.hearsHead()
		answer := ok5
		if i%2 == 0 {
			answer = ok0
		}
		go cancel()
		io.WriteString(r.peer, answer)
		<-a.ret
		if a.err != nil {
			if a.err != context.Canceled {
				t.Fatalf("Start: %v", a.err)
			}
			continue
		}
		b, err := io.ReadAll(a.resp.Body)
		if err == nil && a.resp.ContentLength != int64(len(b)) || err != nil && err != context.Canceled {
			t.Fatalf("read %q, %v", b, err)
		}
		switch why := <-a.ends; why {
		case EndKept:
			if err != nil {
				t.Fatalf("kept after %v", err)
			}
			r.serves()
		case EndCancelled:
			r.wantClosed()
		default:
			t.Fatalf("ended %v", why)
		}
	}
}

// TestEnded: a cause doesn't hide that it was the context, nor what kind of end.
func TestEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		if err := Ended(ctx); err != nil {
			t.Errorf("Ended = %v before the end", err)
		}
		cancel(errOwn)
		if err := Ended(ctx); !errors.Is(err, errOwn) || !errors.Is(err, context.Canceled) || err.Error() != errOwn.Error() {
			t.Errorf("Ended = %v", err)
		}
		ctx, stop := context.WithDeadlineCause(t.Context(), time.Now().Add(time.Second), errOwn)
		defer stop()
		<-ctx.Done()
		err := Ended(ctx)
		var timeout net.Error
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("Ended = %v", err)
		}
		ctx, stop = context.WithCancel(t.Context())
		stop()
		if err := Ended(ctx); err != context.Canceled {
			t.Errorf("Ended = %v without a cause", err)
		}
	})
}

func TestDeadlineIsACause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a := r.start(Request{Request: request(t, "GET", nil).WithContext(ctx)})
		start := time.Now()
		a.failsWith(context.DeadlineExceeded)
		elapsed(t, start, time.Second)
	})
}

// TestClientTimeout: http.Client closes Request.Cancel for round trippers that aren't
// its own, besides the context's deadline.
func TestClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		client := &http.Client{Timeout: time.Second, Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			a := r.start(Request{Request: req})
			<-a.ret
			return a.resp, a.err
		})}
		_, err := client.Get("http://example.com/")
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("err = %v", err)
		}
		r.wantClosed()
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
