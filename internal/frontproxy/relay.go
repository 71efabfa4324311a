package frontproxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A Relay stands between clients and a proxy and makes the way longer: all that comes in
// on one side leaves on the other after delay. A FIN is passed on as a FIN, behind the
// bytes before it, and an RST as an RST. An RST that follows a FIN is noticed with the
// next write only, and passed on then. A connection that the proxy refuses is accepted
// and reset, as load balancers do.
type Relay struct {
	ln    net.Listener
	to    string
	delay time.Duration
	done  chan struct{}
	wg    sync.WaitGroup

	mu     sync.Mutex
	open   map[*net.TCPConn]struct{}
	closed bool
}

// StartRelay starts one to an address, on a port of its own. The caller has to Close it.
func StartRelay(to string, delay time.Duration) (*Relay, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("frontproxy: %w", err)
	}
	r := &Relay{ln: ln, to: to, delay: delay, done: make(chan struct{}), open: make(map[*net.TCPConn]struct{})}
	r.wg.Go(r.accept)
	return r, nil
}

// Addr is where clients connect to.
func (r *Relay) Addr() string { return r.ln.Addr().String() }

func (r *Relay) accept() {
	for {
		c, err := r.ln.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() { r.serve(c.(*net.TCPConn)) })
	}
}

// serve joins client to a connection of its own to the other side, until both ways of
// both have ended.
func (r *Relay) serve(client *net.TCPConn) {
	defer client.Close()
	c, err := net.Dial("tcp", r.to)
	if err != nil {
		reset(client)
		return
	}
	server := c.(*net.TCPConn)
	defer server.Close()
	if !r.keep(client, server) {
		return
	}
	defer r.forget(client, server)
	var ways sync.WaitGroup
	ways.Go(func() { r.carry(client, server) })
	ways.Go(func() { r.carry(server, client) })
	ways.Wait()
}

// A parcel is some bytes on their way, or the end of them.
type parcel struct {
	due time.Time
	b   []byte
	err error // what ended the way, behind b
}

// carry takes bytes from one connection to the other, and what ends them.
func (r *Relay) carry(from, to *net.TCPConn) {
	parcels := make(chan parcel, 64) // beyond that, TCP holds the sender back
	r.wg.Go(func() { r.receive(from, parcels) })
	ended := false // to takes no more: the rest is dropped
	for p := range parcels {
		if ended || !r.until(p.due) {
			continue
		}
		if len(p.b) > 0 {
			if _, err := to.Write(p.b); err != nil {
				ended = true
				r.until(time.Now().Add(r.delay)) // an RST came; it goes back as long a way
				reset(from)
				continue
			}
		}
		switch {
		case p.err == nil:
		case errors.Is(p.err, io.EOF):
			_ = to.CloseWrite()
		default:
			reset(to)
		}
	}
}

func (r *Relay) receive(from *net.TCPConn, parcels chan<- parcel) {
	defer close(parcels)
	for {
		b := make([]byte, 16<<10)
		n, err := from.Read(b)
		parcels <- parcel{time.Now().Add(r.delay), b[:n], err}
		if err != nil {
			return
		}
	}
}

// until waits until due. It reports false when the relay was closed.
func (r *Relay) until(due time.Time) bool {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.done:
		return false
	}
}

func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// keep notes the connections for Close. It reports false when that has come already.
func (r *Relay) keep(cs ...*net.TCPConn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range cs {
		r.open[c] = struct{}{}
	}
	return !r.closed
}

func (r *Relay) forget(cs ...*net.TCPConn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range cs {
		delete(r.open, c)
	}
}

// Close ends all connections and waits for the relay's goroutines. It may be called again.
func (r *Relay) Close() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.closed = true
	close(r.done)
	_ = r.ln.Close()
	for c := range r.open {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}
