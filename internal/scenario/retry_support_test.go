package scenario

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync/atomic"
)

// dialScript makes the nth dial fail with what fail says, counted from 0, as if the system had
// said so.
func dialScript(fail func(n int) error) *http.Transport {
	var dials atomic.Int64
	return &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if err := fail(int(dials.Add(1) - 1)); err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", err)}
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
}
