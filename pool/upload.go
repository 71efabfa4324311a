package pool

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http/httpguts"
)

// An upload is a streamed request body in h1's hands. It lets an exchange that never
// read from it close it without an effect, so that a replacement can still send it;
// the call releases it when no replacement will follow. The caller's body is closed once.
type upload struct {
	io.ReadCloser
	touched atomic.Bool

	mu       sync.Mutex
	closed   bool // h1 is done with it
	released bool
	once     sync.Once
	err      error
}

// Read notes that the body was touched before it is.
func (u *upload) Read(p []byte) (int, error) {
	if !u.touched.Load() {
		u.touched.Store(true)
	}
	return u.ReadCloser.Read(p)
}

// Close closes the caller's body, at the latest when it is released.
func (u *upload) Close() error {
	u.mu.Lock()
	u.closed = true
	now := u.released || u.touched.Load()
	u.mu.Unlock()
	if now {
		return u.closeNow()
	}
	return nil
}

// release says that no other exchange will use the body. If the last one has closed it
// already, the caller's is closed now.
func (u *upload) release() {
	u.mu.Lock()
	u.released = true
	now := u.closed
	u.mu.Unlock()
	if now {
		u.closeNow()
	}
}

func (u *upload) closeNow() error {
	u.once.Do(func() { u.err = u.ReadCloser.Close() })
	return u.err
}

// wasTouched reports whether a byte was asked of the body. A nil upload has none.
func (u *upload) wasTouched() bool { return u != nil && u.touched.Load() }

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
