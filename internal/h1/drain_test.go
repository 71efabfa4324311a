package h1

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestCloseBeforeTheEnd says what becomes of a connection whose answer's body is closed
// early. The peer sends answer, and later rest.
func TestCloseBeforeTheEnd(t *testing.T) {
	long := strings.Repeat("x", drainBytes)
	for _, tt := range []struct {
		name         string
		answer, rest string
		after        time.Duration // when rest comes
		end          End
		took         time.Duration
	}{
		{"all is there", ok5, "", 0, EndKept, 0},
		{"the rest comes soon", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", "llo", drainTime / 2, EndKept, drainTime / 2},
		{"the rest comes late", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", "llo", 2 * drainTime, EndUnread, drainTime},
		{"64 KiB are left", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(long), long), "", 0, EndKept, 0},
		{"more is left", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nx%s", len(long)+1, long), "", 0, EndUnread, 0},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkOf("hello") + "0\r\n\r\n", "", 0, EndKept, 0},
		{"chunked without an end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkOf("hello"), "", 0, EndUnread, drainTime},
		{"chunked and too long", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkOf(long+long), "", 0, EndUnread, 0},
		{"chunked and broken", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "", 0, EndUnread, 0},
		{"with surplus", ok5 + "x", "", 0, EndSurplus, 0},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\nhello", "", 0, EndNotKept, 0},
		{"with close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n", "", 0, EndNotKept, 0},
	} {
		for _, readFirst := range []int{0, 1} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, Options{ReadStall: time.Millisecond}) // not during a drain
					a := r.start(get(t))
					r.hearsHead()
					r.says(tt.answer)
					a.answer(200)
					if tt.name == "more is left" || !strings.HasSuffix(tt.name, "close") && readFirst > 0 && tt.end != EndUnread {
						io.ReadFull(a.resp.Body, make([]byte, readFirst))
					}
					if tt.rest != "" {
						time.AfterFunc(tt.after, func() { io.WriteString(r.peer, tt.rest) })
					}
					start := time.Now()
					if err := a.resp.Body.Close(); err != nil {
						t.Errorf("Close: %v", err)
					}
					want := tt
					if readFirst > 0 && tt.name == "more is left" {
						want.end = EndKept // not any more
					}
					elapsed(t, start, want.took)
					a.wantEnd(want.end)
					if _, err := a.resp.Body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
						t.Errorf("Read after Close: %v", err)
					}
					a.resp.Body.Close()
					if want.end == EndKept {
						r.serves()
					} else {
						r.wantClosed()
					}
				})
			})
		}
	}
}

// TestCloseDuringARead: net/http allows it, and people use it to end a Read.
func TestCloseDuringARead(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{})
			a := r.start(get(t))
			r.hearsHead()
			r.says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
			a.answer(200)
			errs := make(chan error)
			go func() { _, err := a.resp.Body.Read(make([]byte, 5)); errs <- err }()
			synctest.Wait()
			a.resp.Body.Close()
			a.wantEnd(EndUnread)
			if err := <-errs; err != http.ErrBodyReadAfterClose {
				t.Errorf("Read: %v", err)
			}
			r.wantClosed()
		})
	}
}

// TestConcurrentReadsAndClose has no more to say than the race detector.
func TestConcurrentReadsAndClose(t *testing.T) {
	for range 200 {
		r := newRig(t, Options{})
		a := r.start(gzipGet(t))
		r.hearsHead()
		z := zipped(t, strings.Repeat("hello", 1000))
		r.says(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(z), z[:30]))
		a.answer(200)
		done := make(chan bool)
		for range 3 {
			go func() { io.Copy(io.Discard, a.resp.Body); done <- true }()
		}
		go func() { io.WriteString(r.peer, z[30:]); a.resp.Body.Close(); done <- true }()
		for range 4 {
			<-done
		}
		if why := <-a.ends; why != EndKept && why != EndUnread {
			t.Errorf("ended %v", why)
		}
	}
}

func TestCloseDuringAnUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		pr, pw := io.Pipe()
		a := r.start(post(t, pr))
		r.hears(postHead)
		r.says(ok5)
		a.answer(200)
		synctest.Wait() // the writer is in its Read
		start := time.Now()
		a.resp.Body.Close()
		elapsed(t, start, haltGrace)
		a.wantEnd(EndUpload)
		if _, err := pw.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("the body is still read: %v", err)
		}
		r.wantClosed()
	})
}

// TestCloseLetsTheLastWriteEnd: all of the body was taken, so the peer will have it.
func TestCloseLetsTheLastWriteEnd(t *testing.T) {
	for _, sized := range []bool{false, true} {
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
			start := time.Now()
			a.answer(200)
			a.reads("hello")
			elapsed(t, start, lastWriteWait)
			a.open()
			a.resp.Body.Close()
			a.open()
			r.nc.SetBuffer(10000)
			a.wantEnd(EndKept)
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
		a.wantEnd(EndUpload)
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
	a.wantEnd(EndKept)
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
			a.wantEnd(EndNotKept)
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
	a.wantEnd(EndError)
	if _, err := io.ReadAll(a.resp.Body); err == nil {
		t.Error("the body ended well")
	}
	r.wantClosed()
}
