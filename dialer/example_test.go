package dialer_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"example.com/connwise/dialer"
)

// The zero Dialer fits http.Transport.
func ExampleDialer_DialContext() {
	d := &dialer.Dialer{ConnectTimeout: time.Second}
	client := &http.Client{Transport: &http.Transport{DialContext: d.DialContext}}
	_ = client
}

// An error says in facts what went wrong.
func ExampleError() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	l.Close() // nobody listens there now

	_, err = new(dialer.Dialer).DialContext(context.Background(), "tcp", l.Addr().String())
	if e, ok := errors.AsType[*dialer.Error](err); ok {
		fmt.Println(e.Stage, e.Timeout(), len(e.Tries), errors.Is(err, syscall.ECONNREFUSED))
	}
	// Output: connect false 1 true
}
