package fakenet

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
)

// A Listener hands out the server ends of dialled connections. The zero value isn't
// ready; use Listen.
type Listener struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen returns a listener with room for backlog connections that wait for Accept;
// a dial beyond that blocks.
func Listen(backlog int) *Listener {
	return &Listener{
		addr:   &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 80},
		conns:  make(chan net.Conn, backlog),
		closed: make(chan struct{}),
	}
}

// Dial connects to the listener and returns the client's end. It fails with
// ECONNREFUSED once the listener is closed, and with ctx.
func (l *Listener) Dial(ctx context.Context) (*Conn, error) {
	client, server := Pipe()
	select {
	case <-l.closed:
	default:
		select {
		case l.conns <- server:
			return client, nil
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: l.addr, Err: ctx.Err()}
		case <-l.closed:
		}
	}
	err := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: l.addr, Err: err}
}

// DialContext is Dial in the form of http.Transport's hook; network and addr are ignored.
func (l *Listener) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := l.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Accept returns the next connection's server end, which is a *Conn.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
	}
}

// Close ends Accept and refuses further dials.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns the listener's address.
func (l *Listener) Addr() net.Addr { return l.addr }
