package h1

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

func TestCloseDuringAnUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		pr, pw := io.Pipe()
		a := r.start(post(t, pr))
		r.hears(postHead)
		r.says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")
		a.answer(200)
		synctest.Wait() // the writer is in its Read
		start := time.Now()
		a.resp.Body.Close()
		elapsed(t, start, haltGrace) // no use in draining
		a.wantEnd(wire.EndUpload)
		if _, err := pw.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("the body is still read: %v", err)
		}
		r.wantClosed()
	})
}

// TestCloseLetsTheLastWriteEnd: all of the body was taken, so the peer will have it.
func TestCloseLetsTheLastWriteEnd(t *testing.T) {
	for way := range 4 {
		sized, read := way&1 > 0, way&2 > 0
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{})
			r.nc.SetBuffer(len(postHead))
			b := newBody(t, strings.Repeat("x", 1000))
			req := post(t, b)
			if sized {
				req.ContentLength = 1000
			}
			a := r.start(req)
			synctest.Wait() // the writer is in its Write, and for chunks not yet in its last
			if !sized {
				r.nc.SetBuffer(len(postHead) + 1000 + len("3e8\r\n\r\n"))
				synctest.Wait()
			}
			r.says(ok5)
			a.answer(200)
			if read {
				a.reads("hello")
				a.open()
			}
			start := time.Now()
			a.resp.Body.Close()
			if !read {
				elapsed(t, start, lastWriteWait)
			}
			time.Sleep(uploadWait / 2)
			a.open()
			r.nc.SetBuffer(10000)
			a.wantEnd(wire.EndKept)
			synctest.Wait()
			b.wantClosed()
			if sized && b.reads > 1 {
				t.Error("a Read of the body began after Close")
			}
		})
	}
}

func TestLastWriteIsNotWaitedForForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.nc.SetBuffer(300)
		a := r.start(sizedPost(t, 1000, newBody(t, strings.Repeat("x", 1000))))
		synctest.Wait()
		r.says(ok0)
		a.answer(200)
		start := time.Now()
		a.resp.Body.Close()
		a.wantEnd(wire.EndUpload)
		elapsed(t, start, uploadWait)
		r.wantClosed()
	})
}

// TestUploadGoesOnAfterTheAnswer: the caller read to EOF and didn't close.
func TestUploadGoesOnAfterTheAnswer(t *testing.T) {
	r := newRig(t, Options{})
	pr, pw := io.Pipe()
	a := r.start(post(t, pr))
	r.hears(postHead)
	r.says(ok5)
	a.answer(200)
	a.reads("hello")
	for range 100 {
		io.WriteString(pw, "more")
		r.hears(chunkOf("more"))
	}
	a.open()
	pw.Close()
	r.hears("0\r\n\r\n")
	a.wantEnd(wire.EndKept)
	r.serves()
}

// TestUploadEndsWithTheConnection: the peer closes behind its answer and reads no more.
func TestUploadEndsWithTheConnection(t *testing.T) {
	for _, body := range []string{"hello", ""} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{})
			pr, pw := io.Pipe()
			a := r.start(post(t, pr))
			r.hears(postHead)
			synctest.Wait()
			r.says(fmt.Sprintf("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
			a.answer(413)
			a.reads(body)
			a.wantEnd(wire.EndNotKept)
			time.Sleep(2 * haltGrace)
			if _, err := pw.Write([]byte("x")); err != io.ErrClosedPipe {
				t.Errorf("the pipe is open: %v", err)
			}
			r.wantClosed()
		})
	}
}

func TestBodyErrorAfterTheAnswerBegan(t *testing.T) {
	r := newRig(t, Options{})
	pr, pw := io.Pipe()
	a := r.start(post(t, pr))
	r.hears(postHead)
	r.says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")
	a.answer(200)
	pw.CloseWithError(errOwn)
	a.wantEnd(wire.EndError)
	if _, err := io.ReadAll(a.resp.Body); err == nil {
		t.Error("the body ended well")
	}
	r.wantClosed()
}
