package h1

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/connwise/internal/wire"
)

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
			a.wantEnd(wire.EndUnread)
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
		if why := <-a.ends; why != wire.EndKept && why != wire.EndUnread {
			t.Errorf("ended %v", why)
		}
	}
}

// TestCloseDuringAClose: the second one does nothing to the first's drain.
func TestCloseDuringAClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		a := r.start(get(t))
		r.hearsHead()
		r.says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
		a.answer(200)
		go a.resp.Body.Close()
		synctest.Wait()
		a.resp.Body.Close()
		r.says("hello")
		a.wantEnd(wire.EndKept)
	})
}
