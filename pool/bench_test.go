package pool

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
)

// answerer is a server that answers each request with the same bytes, as cheaply as can be.
func answerer(tb testing.TB) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { ln.Close() })
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				for br := bufio.NewReader(nc); ; {
					for line := "x"; line != "\r\n"; {
						if line, err = br.ReadString('\n'); err != nil {
							return
						}
					}
					io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}()
		}
	}()
	return "http://" + ln.Addr().String() + "/"
}

func newBench(b *testing.B, cfg Config) *Transport {
	if cfg.Base == nil {
		cfg.Base = &http.Transport{}
	}
	tr, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { tr.Close() })
	return tr
}

func roundTrip(tb testing.TB, rt http.RoundTripper, url string) {
	req, _ := http.NewRequest("GET", url, nil)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		tb.Error(err)
		return
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

func BenchmarkHostFor(b *testing.B) {
	tr := newBench(b, Config{})
	req, _ := http.NewRequest("GET", "http://host.test/", nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tr.hostFor(req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	url := answerer(b)
	b.ReportAllocs()
	tr := newBench(b, Config{})
	for b.Loop() {
		roundTrip(b, tr, url)
	}
}

// What an idle connection costs: bytes of heap and stack, and goroutines. (The server's
// side isn't in it: it runs in this process but is counted before.)
func BenchmarkIdleConn(b *testing.B) {
	const n = 1000
	for b.Loop() {
		b.StopTimer()
		var accepted atomic.Int64
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		served := make([]net.Conn, 0, n)
		ready := make(chan struct{})
		go func() {
			for len(served) < n {
				nc, err := ln.Accept()
				if err != nil {
					return
				}
				served = append(served, nc)
				accepted.Add(1)
			}
			close(ready)
		}()
		tr := newBench(b, Config{})
		req, _ := http.NewRequest("GET", "http://"+ln.Addr().String()+"/", nil)
		h, _ := tr.hostFor(req)
		before, goroutines := memory(), runtime.NumGoroutine()
		b.StartTimer()
		conns := make([]*conn, 0, n)
		for range n {
			g, err := h.acquire(wish{ctx: context.Background(), w: new(*waiter)})
			if err != nil {
				b.Fatal(err)
			}
			conns = append(conns, g.c)
		}
		b.StopTimer()
		<-ready
		for _, c := range conns {
			h.put(c)
		}
		conns = nil
		after := memory()
		b.ReportMetric(float64(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse)/n, "B/conn")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/n, "goroutines/conn")
		ln.Close()
		tr.Close()
		for _, nc := range served {
			nc.Close()
		}
		b.StartTimer()
	}
}

// memory is what the program holds after garbage, and what sync.Pools keep, is gone.
func memory() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
