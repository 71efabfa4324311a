//go:build proxies && unix

package realproxy

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/internal/peer"
)

// Headers between a bulk load and a checker: how long the request's body is, how long the
// answer's shall be, and whether the answer shall tell its length.
const (
	headerUp     = "X-Up"
	headerDown   = "X-Down"
	headerLength = "X-Tell-Length"
)

// A checker is an origin that compares each request's body, byte for byte, with what it has
// to be, answers with a body that the client can compare, and counts executions. What it
// counts is the start of a request: one whose body breaks off has been executed, too.
type checker struct {
	ln  net.Listener
	srv *http.Server

	mu       sync.Mutex
	counts   map[uint64]int
	wrong    []error // the first few bodies that were not right
	running  sync.WaitGroup
	finished bool
}

// startChecker listens for HTTP/1.1 on a port of its own. It ends with the test.
func startChecker(t *testing.T) *checker {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{ln: ln, counts: make(map[uint64]int)}
	c.srv = &http.Server{Handler: c, ErrorLog: quiet}
	var serving sync.WaitGroup
	serving.Go(func() { _ = c.srv.Serve(ln) })
	t.Cleanup(func() {
		c.Close()
		serving.Wait()
	})
	return c
}

// Addr is where it listens.
func (c *checker) Addr() string { return c.ln.Addr().String() }

// Close ends it and waits for what it executes. It may be called again.
func (c *checker) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), frontproxy.StopTime)
	defer cancel()
	if c.srv.Shutdown(ctx) != nil {
		_ = c.srv.Close()
	}
	c.mu.Lock()
	c.finished = true
	c.mu.Unlock()
	c.running.Wait()
}

// Report tells what was executed.
func (c *checker) Report() peer.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	var r peer.Report
	for _, id := range slices.Sorted(maps.Keys(c.counts)) {
		r.Executed = append(r.Executed, peer.Run{First: id, N: 1, Count: c.counts[id]})
	}
	return r
}

// wantRight checks that each body that came whole was the right one.
func (c *checker) wantRight(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, err := range c.wrong {
		t.Error(err)
	}
}

// begin counts an execution. It reports false when the checker has been closed.
func (c *checker) begin(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return false
	}
	c.running.Add(1)
	if id > 0 {
		c.counts[id]++
	}
	return true
}

func (c *checker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseUint(r.Header.Get(peer.HeaderID), 10, 64)
	if !c.begin(id) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer c.running.Done()
	want := &matcher{pattern{id, number(r, headerUp)}}
	_, err := io.Copy(want, r.Body)
	if err != nil && !isWrong(err) {
		return // it broke off, as it may
	}
	if err == nil {
		err = want.whole()
	}
	if err != nil {
		c.note(fmt.Errorf("the body of %s %d: %w", r.Method, id, err))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.answer(w, r, pattern{id, number(r, headerDown)})
}

func (c *checker) answer(w http.ResponseWriter, r *http.Request, body pattern) {
	w.Header().Set(peer.HeaderID, strconv.FormatUint(body.id, 10))
	if r.Header.Get(headerLength) != "" {
		w.Header().Set("Content-Length", strconv.FormatInt(body.left, 10))
	}
	if r.Method != http.MethodHead {
		_, _ = io.Copy(w, &body) // an error here is the client's to find
	}
}

func (c *checker) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wrong) < 5 {
		c.wrong = append(c.wrong, err)
	}
}

// number is a header's value; zero without one.
func number(r *http.Request, header string) int64 {
	n, _ := strconv.ParseInt(r.Header.Get(header), 10, 64)
	return n
}
