package pool

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Servers and proxies end a connection on which no request came by a 408 that nobody asked
// for. It is no answer to a request, and with connections kept ready they soon don't get to
// send it.
func TestRequestTimeoutOfAnUnusedConnectionIsNoAnswer(t *testing.T) {
	const lifetime = 200 * time.Millisecond
	var farewells, posts atomic.Int64
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer ln.Close()
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { serveAfterPatience(c, lifetime, &farewells, &posts) })
		}
	})

	tr, err := New(Config{Base: &http.Transport{}, MinIdlePerHost: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	url := "http://" + ln.Addr().String()
	if err := tr.Warm(t.Context(), url, 20); err != nil {
		t.Fatal(err)
	}
	gap := time.NewTimer(0)
	learnt := int64(-1)
	for i := range 60 {
		<-gap.C
		// Gaps of 0 to 66 ms, of which no two are alike: connections of any age are taken.
		gap.Reset(time.Duration(i*37%67) * time.Millisecond)
		req, err := http.NewRequest("POST", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("POST %d was answered with %s", i, resp.Status)
		}
		if learnt < 0 && tr.Stats().Hosts[0].LearntUnused > 0 {
			learnt = farewells.Load()
		}
	}
	if posts.Load() != 60 {
		t.Errorf("the server saw %d POSTs", posts.Load())
	}
	st := tr.Stats().Hosts[0]
	if learnt < 0 {
		t.Fatalf("the limit of unused connections wasn't learnt: %+v", st)
	}
	if more := farewells.Load() - learnt; more > 60 { // of some 200
		t.Errorf("%d more 408s after the lesson", more)
	}
	if st.IdleCloses["408"] == 0 {
		t.Errorf("idle closes %v, want some 408", st.IdleCloses)
	}
}

// serveAfterPatience answers one request, if that comes within so long; else it says farewell. So
// all of the client's idle connections are unused ones.
func serveAfterPatience(c net.Conn, patience time.Duration, farewells, posts *atomic.Int64) {
	defer c.Close()
	br := bufio.NewReader(c)
	c.SetReadDeadline(time.Now().Add(patience))
	if _, err := br.Peek(1); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			farewells.Add(1)
			io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}
		return
	}
	c.SetReadDeadline(time.Time{})
	if _, err := http.ReadRequest(br); err == nil {
		posts.Add(1)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	}
}
