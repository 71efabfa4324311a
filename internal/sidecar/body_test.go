package sidecar

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestEarlyAnswer has an upstream that answers without reading: the client has the answer while it is
// still sending, and the handler ends.
func TestEarlyAnswer(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	for _, head := range []string{"Content-Length: 1000000\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"} {
		r := start(t, "upstream="+up.URL, "replay.wait=10ms")
		c, err := net.Dial("tcp", r.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\n%s", head)
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		br := bufio.NewReader(c)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("status %s", resp.Status)
		}
		// The client sends no more, and stays: nobody waits for the rest of its body.
		if _, err := br.ReadByte(); err != io.EOF {
			t.Errorf("behind the answer: %v, want the connection's end", err)
		}
		if err := r.p.idle(t.Context()); err != nil {
			t.Error(err)
		}
		c.Close()
	}
}

// TestExpectationIsTheUpstreams checks that a body isn't asked for before the upstream has asked for it.
func TestExpectationIsTheUpstreams(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Expect") != "100-continue" {
			t.Errorf("Expect is %q", r.Header.Get("Expect"))
		}
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write(b)
	})
	r := start(t, "upstream="+up.URL)
	for _, path := range []string{"/no", "/yes"} {
		c, err := net.Dial("tcp", r.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", path)
		br := bufio.NewReader(c)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if path == "/no" {
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("status %s", resp.Status)
			}
			continue
		}
		if resp.StatusCode != http.StatusContinue {
			t.Fatalf("status %s", resp.Status)
		}
		fmt.Fprint(c, "hello")
		resp, err = http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || string(b) != "hello" {
			t.Errorf("status %s, body %q", resp.Status, b)
		}
	}
}

// TestReplayMemory is bounded for all requests together: what doesn't fit streams, and all is given back.
func TestReplayMemory(t *testing.T) {
	in, out := make(chan int64), make(chan struct{})
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		in <- r.ContentLength
		<-out
		_, _ = w.Write(b)
	})
	r := start(t, "upstream="+up.URL, "replay.body=1KiB", "replay.memory=2500B")
	content := bytes.Repeat([]byte("x"), 1000)
	bodies := make(chan string, 3)
	for i := range 3 {
		go func() {
			_, b := r.do("POST", "/", unsized(string(content)))
			bodies <- b
		}()
		want := int64(len(content)) // kept, and so of known length
		if i == 2 {
			want = -1
		}
		if n := <-in; n != want {
			t.Errorf("request %d came with length %d, want %d", i, n, want)
		}
		if used := r.p.replay.used.Load(); used > 2500 {
			t.Errorf("%d bytes are taken", used)
		}
	}
	for range 3 {
		out <- struct{}{}
		if b := <-bodies; b != string(content) {
			t.Errorf("an answer of %d bytes", len(b))
		}
	}
	if err := r.p.idle(t.Context()); err != nil {
		t.Error(err)
	}
	if used := r.p.replay.used.Load(); used != 0 {
		t.Errorf("%d bytes are taken at the end", used)
	}
}

// TestBodiesArriveWhole sends bodies around each border.
func TestBodiesArriveWhole(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		_, _ = io.Copy(w, r.Body)
	})
	r := start(t, "upstream="+up.URL, "replay.body=8KiB")
	for _, n := range []int{0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 12288, 12289, 300000} {
		content := strings.Repeat("0123456789", n/10+1)[:n]
		for _, body := range []io.Reader{unsized(content), strings.NewReader(content)} {
			if _, got := r.do("PUT", "/", body); got != content {
				t.Errorf("of %d bytes there came %d back", n, len(got))
			}
		}
	}
	if n := r.p.Counters().Streamed; n != 8 { // 8193 bytes and more, of known length or not
		t.Errorf("%d bodies have streamed, want 8", n)
	}
}

// TestUnreadBodyEndsTheConnection has clients whose bodies are there, and that nobody has read when the
// answer comes. What is left of them must not be taken for the next request, nor stop the server.
func TestUnreadBodyEndsTheConnection(t *testing.T) {
	r := start(t, "upstream=unix:/nowhere/at/all", "replay.body=none", "retry.policy=off")
	for _, body := range []string{"Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"Content-Length: 70000\r\n\r\n" + strings.Repeat("GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n", 2000)[:70000]} {
		c, err := net.Dial("tcp", r.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\n%s", body)
		br := bufio.NewReader(c)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusServiceUnavailable || !resp.Close {
			t.Errorf("status %s, the connection ends: %v", resp.Status, resp.Close)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		if _, err := br.ReadByte(); err != io.EOF {
			t.Errorf("behind the answer: %v, want the connection's end", err)
		}
		c.Close()
	}
	if strings.Contains(r.log.String(), "panic") {
		t.Error("the server has panicked")
	}
}
