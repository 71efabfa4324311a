package oracle

import (
	"crypto/tls"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

// A proto is what is spoken.
type proto struct {
	name  string
	tls   bool
	h2    bool
	conns []choice
}

var protos = []proto{
	{"h1", false, false, plainConnFates},
	{"h1s", true, false, tlsConnFates},
	{"h2", true, true, h2ConnFates},
	{"h2c", false, true, h2cConnFates},
}

const (
	lingerTime = 3 * time.Second // for the client to close what the peer has closed
	upTime     = 200 * time.Millisecond
	downTime   = 2 * time.Millisecond
)

// A port is a peer: a faulty server on a loopback port of its own.
type port struct {
	proto
	notes   *notes
	seed    uint64
	addr    string
	tls     *tls.Config // nil: plain
	h2      *peer.H2Server
	done    chan struct{}
	release func() // of addr
	wg      sync.WaitGroup

	mu    sync.Mutex
	ended bool
	ln    net.Listener // nil while nobody listens
	socks map[*sock]struct{}
}

func startPort(t *testing.T, p proto, n *notes, seed uint64) *port {
	t.Helper()
	addr, release, err := reserve()
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		release()
		t.Fatal(err)
	}
	s := &port{proto: p, release: release, notes: n, seed: seed, addr: ln.Addr().String(), done: make(chan struct{}), socks: make(map[*sock]struct{})}
	if p.tls {
		s.tls = &tls.Config{Certificates: []tls.Certificate{authority().Certificate()}, NextProtos: []string{"http/1.1"}}
	}
	if p.h2 {
		s.startH2()
	}
	s.wg.Go(func() { s.listen(ln) })
	return s
}

// listen accepts connections until the end. Now and then it closes the listener for a moment.
func (p *port) listen(ln net.Listener) {
	rng := rand.New(rand.NewPCG(p.seed, 0))
	num := uint64(1)
	for ln != nil && p.open(ln) {
		num = p.acceptAll(ln, num, upTime+span(rng, upTime))
		ln = p.again(rng)
	}
}

// acceptAll accepts connections for d, the first with the given number. It returns the next one's.
func (p *port) acceptAll(ln net.Listener, num uint64, d time.Duration) uint64 {
	defer time.AfterFunc(d, func() { ln.Close() }).Stop()
	for {
		c, err := ln.Accept()
		if err != nil {
			return num
		}
		p.adopt(c.(*net.TCPConn), num)
		num++
	}
}

// open makes ln the listener that the end closes; false: it's over, and ln is closed.
func (p *port) open(ln net.Listener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		ln.Close()
		return false
	}
	p.ln = ln
	return true
}

// again listens on the port once more, after a moment; nil: it's over.
func (p *port) again(rng *rand.Rand) net.Listener {
	p.notes.count(fateRefuse)
	for d := span(rng, downTime); p.pause(d); d = time.Millisecond {
		if ln, err := net.Listen("tcp", p.addr); err == nil {
			return ln
		}
	}
	return nil
}

// pause waits for d; false: it's over.
func (p *port) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.done:
		return false
	}
}

func (p *port) adopt(c *net.TCPConn, num uint64) {
	s := &sock{TCPConn: c, link: p.notes.open(wayOf(c).back())}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		s.Close()
		return
	}
	p.socks[s] = struct{}{}
	p.wg.Go(func() {
		p.serve(s, rand.New(rand.NewPCG(p.seed, num)))
		s.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.socks, s)
	})
}

// serve decides on a connection's fate.
func (p *port) serve(s *sock, rng *rand.Rand) {
	f := draw(rng, p.conns)
	p.notes.count(f)
	switch f {
	case fateShut:
		s.finish()
	case fateCut:
		s.Reset()
	case fateHelloCut, fateHelloShut:
		if _, err := s.Read(make([]byte, 1+rng.IntN(300))); err != nil || f == fateHelloCut {
			s.Reset()
			return
		}
		s.finish()
	default:
		if p.proto.h2 {
			p.h2.ServeConn(&h2sock{sock: s, rng: rng, doomed: f == fateGoneAway})
			return
		}
		p.serveH1(s, rng)
	}
}

// close ends the peer. The clients have closed their connections, so that the peer is about to
// see the end of each; what is left after a moment is closed.
func (p *port) close() {
	p.mu.Lock()
	p.ended = true
	close(p.done)
	p.ln.Close()
	p.mu.Unlock()
	late := time.AfterFunc(time.Second, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for s := range p.socks {
			s.Close()
		}
	})
	p.wg.Wait()
	late.Stop()
	if p.h2 != nil {
		p.h2.Close()
	}
	p.release()
}
