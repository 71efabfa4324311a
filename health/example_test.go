//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health_test

import (
	"fmt"
	"io"
	"net"

	"example.com/connwise/health"
)

func ExampleSocket() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		panic(err)
	}
	fmt.Println(health.Socket(client))

	closed := make(chan struct{})
	w := health.Watch(client, func() { close(closed) })
	server.Close()
	if w != nil { // nil where the platform can't watch
		<-closed
		w.Stop()
	} else {
		io.Copy(io.Discard, client)
	}
	fmt.Println(health.Socket(client))
	// Output:
	// alive <nil>
	// dead EOF
}

func ExampleParseKeepAlive() {
	fmt.Println(health.ParseKeepAlive("timeout=5, max=1000"))
	fmt.Println(health.ParseKeepAlive("max=1000"))
	// Output:
	// 5s true
	// 0s false
}

// The client has to be the first to close: what the proxy says less a margin.
func ExampleKnown() {
	p, ok := health.Known("aws-alb")
	fmt.Println(p.Title, p.Idle, ok)
	_, ok = health.Known("no-such-proxy")
	fmt.Println(ok)
	// Output:
	// AWS Application Load Balancer 1m0s true
	// false
}

func ExampleCauseOf() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		panic(err)
	}
	closed := make(chan struct{})
	w := health.Watch(client, func() { close(closed) })
	io.WriteString(server, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
	server.Close()
	if w != nil {
		<-closed
		w.Stop()
		_, err = health.Socket(client)
		fmt.Println(health.CauseOf(err))
	} else {
		fmt.Println("408")
	}
	// Output: 408
}
