package peer

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
)

// maxReported bounds the connections that a Report tells of one by one.
const maxReported = 1 << 14

// A Server is a faulty HTTP/1.1 server on a loopback port of its own.
type Server struct {
	port
	tls    *tls.Config // nil: plain
	plan   atomic.Pointer[plan]
	oracle oracle
	used   atomic.Int64 // connections on which a request was executed

	mu     sync.Mutex // guards what follows; before conn.mu
	closed bool
	count  Count // but for Open, which is that of open
	open   map[*conn]struct{}
	ended  map[int]int // requests by number of connection, of those that ended
	cut    Cut
	cuts   cutter

	accepted acceptTimes
}

// Start listens on 127.0.0.1 and serves until Close. With a nil Authority it
// speaks plain HTTP/1.1, else HTTPS with a certificate of that authority.
func Start(a *Authority, f Faults) (*Server, error) {
	s := &Server{port: port{done: make(chan struct{})}, open: make(map[*conn]struct{}), ended: make(map[int]int)}
	if err := s.listen(); err != nil {
		return nil, err
	}
	if a != nil {
		s.tls = a.serverConfig()
	}
	s.SetFaults(f)
	s.wg.Go(func() { s.accept(s.adopt) })
	return s, nil
}

// SetFaults replaces the faults. A connection that is idle now keeps its idle timeout.
func (s *Server) SetFaults(f Faults) { s.plan.Store(newPlan(f)) }

// adopt counts a new connection, and returns what serves it; nil once the server is closed.
func (s *Server) adopt(raw *net.TCPConn) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	c := newConn(s, raw, s.count.Accepted)
	s.open[c] = struct{}{}
	s.count.add(len(s.open))
	s.accepted.add()
	return func() {
		c.serve()
		s.release(c)
	}
}

func (s *Server) release(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	if c.num < maxReported {
		s.ended[c.num] = c.requests // c's goroutine is here: nobody else writes it
	}
}

// Drop closes connections as d says and returns how many. Idle ones are closed
// when it returns: their FIN or RST is on its way to the client ahead of whatever
// the caller does next.
func (s *Server) Drop(d Drop) int {
	if d.Style == "" {
		d.Style = FIN
	}
	n := 0
	for _, c := range s.conns() {
		if c.drop(d) {
			n++
		}
	}
	return n
}

func (s *Server) conns() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	cs := make([]*conn, 0, len(s.open))
	for c := range s.open {
		cs = append(cs, c)
	}
	return cs
}

// SetCut cuts coming requests as c says.
func (s *Server) SetCut(c Cut) {
	if c.Style == "" {
		c.Style = FIN
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = c
}

// takeCut returns the cut for a request; the zero Cut for none.
func (s *Server) takeCut(q request) Cut {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut.Next > 0 {
		s.cut.Next--
		return s.cut
	}
	cut, _ := choose(&s.cuts, s.plan.Load().Cuts, q.id, q.post)
	return cut
}

// Close stops listening, closes all connections and waits until the last request
// has been executed or given up. It may be called again.
func (s *Server) Close() {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		s.shut()
		for _, c := range s.conns() {
			c.close(BareFIN)
		}
	}
	s.wg.Wait()
}
