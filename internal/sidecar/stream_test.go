package sidecar

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// TestEventsStream checks that each part of an answer arrives before the next one is made.
func TestEventsStream(t *testing.T) {
	next := make(chan struct{})
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sized" {
			w.Header().Set("Content-Length", "6")
		} else {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		for i := range 3 {
			fmt.Fprintf(w, "%d\n", i)
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	r := start(t, "upstream="+up.URL)
	for _, path := range []string{"/", "/sized"} {
		resp, err := newClient(t).Get(r.url + path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		for i := range 3 {
			if !lines.Scan() || lines.Text() != fmt.Sprint(i) {
				t.Fatalf("%s: part %d is %q, error %v", path, i, lines.Text(), lines.Err())
			}
			next <- struct{}{}
		}
		resp.Body.Close()
	}
}

// TestBothDirectionsAtOnce has a client that waits for an answer's part before it sends the next of its
// request, over HTTP/1.1 and HTTP/2.
func TestBothDirectionsAtOnce(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		w.WriteHeader(200)
		_ = c.Flush()
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			fmt.Fprintf(w, "echo %s\n", lines.Text())
			_ = c.Flush()
		}
	})
	r := start(t, "upstream="+up.URL, "replay.wait=20ms")
	for _, h2 := range []bool{false, true} {
		client := newClient(t)
		if h2 {
			client.Transport.(*http.Transport).Protocols = onlyH2C()
		}
		pr, pw := io.Pipe()
		req, _ := http.NewRequestWithContext(t.Context(), "POST", r.url, pr)
		go func() { _, _ = io.WriteString(pw, "0\n") }()
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		for i := range 5 {
			if !lines.Scan() || lines.Text() != fmt.Sprint("echo ", i) {
				t.Fatalf("HTTP/2 %v: part %d is %q, error %v", h2, i, lines.Text(), lines.Err())
			}
			if i < 4 {
				fmt.Fprintln(pw, i+1)
			}
			if used := r.p.replay.used.Load(); i > 1 && used != 0 {
				t.Errorf("%d bytes of replay memory are taken for what is gone", used)
			}
		}
		pw.Close()
		if lines.Scan() || lines.Err() != nil {
			t.Errorf("HTTP/2 %v: after the end: %q, %v", h2, lines.Text(), lines.Err())
		}
		resp.Body.Close()
	}
}
