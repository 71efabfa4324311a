package pool

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// echo answers with the request's query, so often as to make a body of some length.
func echo(t *testing.T) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := strings.Repeat(r.URL.RawQuery+";", 2000)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func newTransport(t *testing.T) *Transport {
	tr, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

func ask(t *testing.T, tr *Transport, ctx context.Context, url, query string) *http.Response {
	t.Helper()
	req, _ := http.NewRequestWithContext(ctx, "GET", url+"/?"+query, nil)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// A body that is over lets go of its call, and whoever has it still can do no harm to the
// request that has the call next.
func TestBodyThatIsOver(t *testing.T) {
	srv, tr := echo(t), newTransport(t)
	var old []io.ReadCloser
	for i := range 20 {
		query := fmt.Sprint("q", i)
		resp := ask(t, tr, t.Context(), srv.URL, query)
		for _, b := range old {
			if n, err := b.Read(make([]byte, 10)); n != 0 || err != http.ErrBodyReadAfterClose {
				t.Fatalf("Read of a closed body: %d, %v", n, err)
			}
			if err := b.Close(); err != nil {
				t.Fatalf("Close of a closed body: %v", err)
			}
		}
		b, err := io.ReadAll(resp.Body)
		if string(b) != strings.Repeat(query+";", 2000) || err != nil {
			t.Fatalf("body of %d bytes, %v", len(b), err)
		}
		if n, err := resp.Body.Read(make([]byte, 10)); n != 0 || err != io.EOF {
			t.Fatalf("Read at the end: %d, %v", n, err)
		}
		resp.Body.Close()
		if resp.Body.(*answerBody).c != nil {
			t.Fatal("the body has kept its call")
		}
		old = append(old, resp.Body)
	}
}

// What something may still come back to isn't used again: a call whose body was closed before
// its end, or under a Read, or whose exchange others know.
func TestCallThatIsNotUsedAgain(t *testing.T) {
	for name, f := range map[string]func(c *call){
		"streamed body": func(c *call) { c.body = &upload{} },
		"trace":         func(c *call) { c.g.c.trace = &connTrace{} },
	} {
		c := &call{g: grant{c: &conn{}}}
		if !c.forgettable() {
			t.Fatal("a plain call isn't forgettable")
		}
		if f(c); c.forgettable() {
			t.Errorf("%s: forgettable", name)
		}
	}
}

// Readers and closers of all kinds meet at the end of each body, and every answer is its
// request's.
func TestBodiesUnderManyHands(t *testing.T) {
	srv, tr := echo(t), newTransport(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 60 {
				ctx, cancel := context.WithCancel(t.Context())
				query := fmt.Sprintf("g%di%d", g, i)
				req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL+"/?"+query, nil)
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
				handle(t, resp.Body, query+";", i%4, cancel)
				cancel()
			}
		})
	}
	wg.Wait()
}

// handle reads the body, and ends it in one of four ways.
func handle(t *testing.T, b io.ReadCloser, want string, way int, cancel func()) {
	var others sync.WaitGroup
	defer others.Wait()
	p := make([]byte, 1000)
	n, err := io.ReadFull(b, p[:len(want)])
	if string(p[:n]) != want {
		t.Errorf("got %q, %v; want %q", p[:n], err, want)
	}
	switch way {
	case 0: // well
	case 1: // closed under a Read, twice
		for range 2 {
			others.Go(func() { b.Close() })
		}
	case 2: // cancelled
		others.Go(cancel)
	case 3: // two readers
		others.Go(func() { io.Copy(io.Discard, b) })
	}
	for err = nil; err == nil; {
		_, err = b.Read(p)
	}
	b.Close()
	if _, err := b.Read(p); err != http.ErrBodyReadAfterClose {
		t.Errorf("Read after Close: %v", err)
	}
}
