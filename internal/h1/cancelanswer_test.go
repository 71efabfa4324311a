package h1

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

func TestCancelDuringTheAnswersBody(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
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
			a.wantEnd(wire.EndCancelled)
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
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
		r := newRig(t, Options{})
		req, cancel, _ := with(get(t))
		a := r.start(req)
		r.hearsHead()
		r.says("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n")
		a.answer(200)
		cancel()
		a.wantEnd(wire.EndCancelled)
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
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
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
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
		r := newRig(t, Options{})
		pr, pw := io.Pipe()
		req, cancel, _ := with(post(t, pr))
		a := r.start(req)
		r.hears(postHead)
		r.says(ok5)
		a.answer(200)
		a.reads("hello")
		cancel()
		a.wantEnd(wire.EndCancelled)
		a.reads("") // the answer was whole
		time.Sleep(2 * haltGrace)
		if _, err := pw.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("the pipe is open: %v", err)
		}
	})
}

func TestCancelAfterTheEndDoesNothing(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
		r := newRig(t, Options{})
		req, cancel, _ := with(get(t))
		a := r.start(req)
		r.hearsHead()
		r.says(ok5)
		a.answer(200)
		a.reads("hello")
		a.wantEnd(wire.EndKept)
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
		a := r.start(wire.Request{Request: request(t, "GET", nil).WithContext(ctx)})
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
		case wire.EndKept:
			if err != nil {
				t.Fatalf("kept after %v", err)
			}
			r.serves()
		case wire.EndCancelled:
			r.wantClosed()
		default:
			t.Fatalf("ended %v", why)
		}
	}
}
