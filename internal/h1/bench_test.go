package h1

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/connwise/internal/wire"
)

// benchPeer answers what it gets, byte-counted, on a loopback connection.
func benchPeer(b *testing.B, request int, answer string) *Conn {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	peer, err := ln.Accept()
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		defer peer.Close()
		br := bufio.NewReaderSize(peer, 64<<10)
		for {
			if _, err := br.Discard(request); err != nil {
				return
			}
			io.WriteString(peer, answer)
		}
	}()
	c := NewConn(nc, &Options{})
	b.Cleanup(func() { c.Close() })
	return c
}

type nobody struct{}

func (nobody) ExchangeDone(bool, wire.End) {}

const benchAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Length: 13\r\n\r\n{\"ok\": true}\n"

func benchGet(b *testing.B, ctx context.Context) {
	c := benchPeer(b, len(getHead), benchAnswer)
	req, _ := http.NewRequestWithContext(ctx, "GET", "http://example.com/p", nil)
	p := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		x := new(Exchange)
		resp, err := x.Start(c, wire.Request{Request: req}, nobody{})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = resp.Body.Read(p)
		}
		resp.Body.Close()
	}
}

func BenchmarkGet(b *testing.B) { benchGet(b, context.Background()) }

func BenchmarkGetWithCancel(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	benchGet(b, ctx)
}

func BenchmarkSmallPost(b *testing.B) {
	body := []byte(strings.Repeat("x", 1000))
	req, _ := http.NewRequest("POST", "http://example.com/p", nil)
	r := wire.Request{Request: req, Small: body}
	head, err := ours(r)
	if err != nil {
		b.Fatal(err)
	}
	c := benchPeer(b, len(head)+len(body), benchAnswer)
	p := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		x := new(Exchange)
		resp, err := x.Start(c, r, nobody{})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = resp.Body.Read(p)
		}
	}
}
