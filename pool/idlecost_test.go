package pool

import (
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
)

// An idle connection has no goroutine, and no buffer: either would show here, as a
// buffer has 4 KiB. (The server's end and the pool's own books are in the figure too.)
func TestIdleConnectionsCostLittle(t *testing.T) {
	const n = 200
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	// The server reads each request and answers when all have come, without a goroutine
	// for each, so that all goroutines counted below are the pool's.
	served := make(chan []net.Conn, 1)
	go func() {
		var conns []net.Conn
		buf := make([]byte, 4096)
		for len(conns) < n {
			nc, err := ln.Accept()
			if err != nil {
				break
			}
			nc.Read(buf)
			conns = append(conns, nc)
		}
		for _, nc := range conns {
			io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
		served <- conns
	}()
	tr, err := New(Config{Base: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	before, goroutines := memory(), runtime.NumGoroutine()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { roundTrip(t, tr, "http://"+ln.Addr().String()+"/") })
	}
	wg.Wait()
	conns := <-served
	if st := tr.Stats().Hosts[0]; st.Idle != n {
		t.Fatalf("%d idle connections, want %d", st.Idle, n)
	}
	// The server's goroutine has ended, the watcher's has begun.
	if g := runtime.NumGoroutine(); g > goroutines+1 {
		t.Errorf("%d goroutines more than before, for %d idle connections", g-goroutines, n)
	}
	heap := int64(memory().HeapAlloc) - int64(before.HeapAlloc)
	if per := heap / n; per > 3<<10 {
		t.Errorf("%d bytes of heap for each idle connection", per)
	}
	for _, nc := range conns {
		nc.Close()
	}
}
