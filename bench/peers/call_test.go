package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"example.com/connwise/bench"
	"example.com/connwise/internal/peer"
)

func closeIt(t *testing.T, client any) {
	t.Helper()
	switch c := client.(type) {
	case io.Closer:
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	case interface{ CloseIdleConnections() }:
		c.CloseIdleConnections()
	default:
		t.Errorf("%T can't be closed", client)
	}
}

// post sends a POST with a new client, and reads the answer.
func post(ctx context.Context, t *testing.T, c bench.Client, s bench.Setup, to string) error {
	t.Helper()
	if c.Native != nil {
		client, err := c.Native(s)
		if err != nil {
			t.Fatal(err)
		}
		defer closeIt(t, client)
		return client.Call(ctx, exchange(t, http.MethodPost, to, []byte("body")))
	}
	client, err := c.New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer closeIt(t, client)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader([]byte("body")))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

func exchange(t *testing.T, method, to string, body []byte) *bench.Exchange {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return &bench.Exchange{Method: method, URL: u, ID: "17", Body: body}
}

// TestFastHTTPCalls: what is sent and read is what the exchange says, call after call with
// the same request.
func TestFastHTTPCalls(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if chunked := r.ContentLength < 0; chunked != (r.URL.Path == "/c") {
			t.Errorf("%s: in chunks: %v", r.URL.Path, chunked)
		}
		w.Header().Set(peer.HeaderID, r.Header.Get(peer.HeaderID))
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(append([]byte(r.Method+r.URL.Path), body...))
	}))
	defer srv.Close()
	f := newFast(bench.Setup{Proto: "h1", Callers: 1})
	defer closeIt(t, f)
	chunked := exchange(t, http.MethodPost, srv.URL+"/c", []byte("body"))
	chunked.Chunked = true
	streamed := exchange(t, http.MethodPost, srv.URL+"/d", []byte("body"))
	var sink strings.Builder
	streamed.Sink = &sink
	for _, e := range []*bench.Exchange{
		exchange(t, http.MethodGet, srv.URL+"/a", nil),
		exchange(t, http.MethodPost, srv.URL+"/bb", []byte("body")),
		chunked,
		streamed,
		exchange(t, http.MethodPost, srv.URL+"/d", []byte("body")),
		exchange(t, http.MethodGet, srv.URL+"/a", nil),
	} {
		if err := f.Call(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if want := int64(len(e.Method + e.URL.Path + string(e.Body))); e.Read != want || e.Status != http.StatusAccepted || e.AnswerID != "17" || e.Proto != "HTTP/1.1" {
			t.Errorf("%s %s: %d bytes, want %d; %+v", e.Method, e.URL.Path, e.Read, want, e)
		}
	}
	if sink.String() != "POST/dbody" {
		t.Errorf("the sink got %q", sink.String())
	}
}

// TestFastHTTPKeepsToTheLimit: it knows no context, so the limit has to be told it.
func TestFastHTTPKeepsToTheLimit(t *testing.T) {
	done := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done }))
	defer srv.Close()
	defer close(done)
	f := newFast(bench.Setup{Proto: "h1", Callers: 1, CallTimeout: 50 * time.Millisecond})
	defer closeIt(t, f)
	if err := f.Call(t.Context(), exchange(t, http.MethodPost, srv.URL, []byte("body"))); !errors.Is(err, fasthttp.ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
}
