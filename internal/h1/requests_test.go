package h1

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"example.com/connwise/internal/wire"
)

func request(t *testing.T, method string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://example.com/p", body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func get(t *testing.T) wire.Request { return wire.Request{Request: request(t, "GET", nil)} }

// post has a body that is streamed in chunks.
func post(t *testing.T, body io.Reader) wire.Request {
	if rc, ok := body.(io.ReadCloser); ok {
		return wire.Request{Request: request(t, "POST", rc)}
	}
	return wire.Request{Request: request(t, "POST", io.NopCloser(body))}
}

func small(t *testing.T, body string) wire.Request {
	return wire.Request{Request: request(t, "POST", strings.NewReader(body)), Small: []byte(body)}
}

// A probe body counts what is done to it. It has no lock: the race detector sees when
// two goroutines use it.
type body struct {
	t      *testing.T
	r      io.Reader
	reads  int
	closes int
	closed bool
	after  error // what Close returns
}

func newBody(t *testing.T, s string) *body { return &body{t: t, r: strings.NewReader(s)} }

func (b *body) Read(p []byte) (int, error) {
	if b.closed {
		b.t.Error("Read of the request body after its Close")
	}
	b.reads++
	return b.r.Read(p)
}

func (b *body) Close() error {
	b.closes++
	b.closed = true
	return b.after
}

func (b *body) wantClosed() {
	b.t.Helper()
	if b.closes != 1 {
		b.t.Errorf("the body was closed %d times, want once", b.closes)
	}
}
