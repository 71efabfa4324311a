package recipes_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// refusedAtFirst dials as net.Dialer does, but the first dial meets a port where nobody
// listens: a server that isn't up yet.
func refusedAtFirst() func(ctx context.Context, network, addr string) (net.Conn, error) {
	var dials atomic.Int32
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials.Add(1) == 1 {
			addr = "127.0.0.1:1"
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}

// lostAtFirst reads the first request to its end and then closes the connection without an
// answer: a server that was restarted in mid-flight. The others go to h.
func lostAtFirst(h http.HandlerFunc) http.Handler {
	var requests atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		}
		h(w, r)
	})
}
