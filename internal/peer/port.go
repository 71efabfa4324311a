package peer

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// A port is a loopback listener, and what ends with it.
type port struct {
	ln   net.Listener
	done chan struct{} // closed by shut
	wg   sync.WaitGroup
}

func (p *port) listen() error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	p.ln = ln
	return nil
}

// Addr returns the server's "127.0.0.1:port".
func (p *port) Addr() string { return p.ln.Addr().String() }

// accept hands each connection to adopt, and runs what that returns in a goroutine
// of its own; nil ends the port.
func (p *port) accept(adopt func(*net.TCPConn) func()) {
	for {
		raw, err := p.ln.Accept()
		if err != nil {
			if p.pause(time.Millisecond) { // out of descriptors, perhaps
				continue
			}
			return
		}
		serve := adopt(raw.(*net.TCPConn))
		if serve == nil {
			_ = raw.Close()
			return
		}
		p.wg.Go(serve)
	}
}

// pause waits for d. It reports false when the server was closed.
func (p *port) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.done:
		return false
	}
}

// shut ends the listening and all pauses. It is called once.
func (p *port) shut() {
	close(p.done)
	if p.ln != nil {
		_ = p.ln.Close()
	}
}
