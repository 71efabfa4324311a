package peer

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// A port is a loopback listener, and what ends with it.
type port struct {
	addr string
	done chan struct{} // closed by shut
	wg   sync.WaitGroup

	lnMu sync.Mutex // guards what follows; innermost
	ln   net.Listener
	away time.Duration // how long nobody listens; zero: somebody does
}

func (p *port) listen() error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	p.ln, p.addr = ln, ln.Addr().String()
	return nil
}

// Addr returns the server's "127.0.0.1:port".
func (p *port) Addr() string { return p.addr }

// Down has nobody listen for d, as between the end of one process and the start of the next:
// connections are refused. When it returns they are. Those that were accepted are served on;
// those which nobody had accepted yet are reset. While it's down another Down does nothing.
func (p *port) Down(d time.Duration) {
	p.lnMu.Lock()
	defer p.lnMu.Unlock()
	if p.ln != nil && p.away == 0 && d > 0 {
		p.away = d
		_ = p.ln.Close()
	}
}

// accept hands each connection to adopt, and runs what that returns in a goroutine
// of its own; nil ends the port.
func (p *port) accept(adopt func(*net.TCPConn) func()) {
	for {
		raw, err := p.listener().Accept()
		if err != nil {
			if p.wait() {
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

func (p *port) listener() net.Listener {
	p.lnMu.Lock()
	defer p.lnMu.Unlock()
	return p.ln
}

// wait waits for what ended an Accept to pass: a Down, or a lack of descriptors. It
// reports false when the server was closed.
func (p *port) wait() bool {
	const again = time.Millisecond
	p.lnMu.Lock()
	away := p.away
	p.lnMu.Unlock()
	for ok := p.pause(max(away, again)); ok; ok = p.pause(again) {
		if away == 0 || p.up() {
			return true
		}
	}
	return false
}

// up listens again, and reports whether that went well: somebody else may have the port
// for a moment.
func (p *port) up() bool {
	p.lnMu.Lock()
	defer p.lnMu.Unlock()
	select {
	case <-p.done:
		return false
	default:
	}
	ln, err := net.Listen("tcp", p.addr)
	if err != nil {
		return false
	}
	p.ln, p.away = ln, 0
	return true
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
	p.lnMu.Lock()
	defer p.lnMu.Unlock()
	if p.ln != nil {
		_ = p.ln.Close()
	}
}
