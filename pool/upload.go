package pool

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// An upload is a streamed request body in h1's hands. It lets an exchange that never
// read from it close it without an effect, so that a replacement can still send it; the
// call releases it when no replacement will follow. The caller's body is closed once.
type upload struct {
	body io.ReadCloser

	mu       sync.Mutex // not held while body is called: its Close may wait for its Read
	touched  bool       // a Read was begun
	given    bool       // an exchange has it, and hasn't closed it
	released bool       // no exchange will get it any more
	closed   bool       // body's Close was called or is about to be
}

// lend gives the body to an exchange.
func (u *upload) lend() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.given = true
}

// Read notes that the body was touched before it is.
func (u *upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	u.touched = true
	u.mu.Unlock()
	return u.body.Read(p)
}

// Close is for the exchange that has the body. It closes the caller's unless another
// exchange may still need it.
func (u *upload) Close() error {
	u.mu.Lock()
	u.given = false
	return u.settle()
}

// release says that no other exchange will get the body. If none has it now, the caller's
// is closed.
func (u *upload) release() {
	u.mu.Lock()
	u.released = true
	u.settle()
}

// settle closes the caller's body when it is time. It is called under mu and unlocks it.
func (u *upload) settle() error {
	now := !u.given && (u.released || u.touched) && !u.closed
	u.closed = u.closed || now
	u.mu.Unlock()
	if !now {
		return nil
	}
	return u.body.Close()
}

// wasTouched reports whether a byte was asked of the body. A nil upload has none.
func (u *upload) wasTouched() bool {
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.touched
}

// maxSmall is the size up to which a body that is in memory goes out with the head in
// one write. It fits into any socket's send buffer, so that the write doesn't wait for
// the peer.
const maxSmall = 8 << 10

var nopClosers = [...]reflect.Type{
	reflect.TypeOf(io.NopCloser(nil)), // hides a Reader
	reflect.TypeOf(io.NopCloser(struct {
		io.WriterTo
		io.Reader
	}{})), // hides a Reader that is a WriterTo
}

// inMemory tells whether the request's body is small, of known length, and of a type
// whose Read neither waits nor fails, so that it can be read in one go. A request that
// expects 100 Continue must not have its body read before.
func inMemory(req *http.Request) bool {
	if req.ContentLength <= 0 || req.ContentLength > maxSmall || httpguts.HeaderValuesContainsToken(req.Header["Expect"], "100-continue") {
		return false
	}
	var r io.Reader = req.Body
	if t := reflect.TypeOf(r); t == nopClosers[0] || t == nopClosers[1] {
		r, _ = reflect.ValueOf(r).Field(0).Interface().(io.Reader)
	}
	switch r.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return true
	}
	return false
}

// takeSmall reads and closes the body of a request for which inMemory holds.
func takeSmall(req *http.Request) ([]byte, error) {
	defer req.Body.Close()
	b := make([]byte, req.ContentLength)
	n, err := io.ReadFull(req.Body, b)
	if err != nil {
		return b[:0], fmt.Errorf("http: ContentLength=%d with Body length %d", req.ContentLength, n)
	}
	if m, _ := req.Body.Read(make([]byte, 1)); m > 0 {
		return b[:0], fmt.Errorf("http: ContentLength=%d with a longer Body", req.ContentLength)
	}
	return b, nil
}
