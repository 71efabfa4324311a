package peer

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http2"
)

// H2Options are what an H2Server is made of. The zero H2Options serve h2c.
type H2Options struct {
	// TLS has the server's certificate. Its NextProtos say what ALPN may choose; "h2" alone
	// if it is empty. A connection that doesn't come out as "h2" is served as HTTP/1.1,
	// with the Faults' Delay and BodySize alone. Nil: HTTP/2 without TLS, by prior knowledge.
	TLS *tls.Config
	// Handler has each HTTP/2 connection behind its preface. It has sent nothing then.
	// The connection is closed when Handler returns. Nil: (*H2Conn).Serve.
	Handler func(*H2Conn)
	// Faults are for Serve; Ping is for Respond too.
	Faults H2Faults
	// KeepBody is how many bytes of a request's body are kept in H2Request.Body.
	KeepBody int
	// Body gives the answer's body. Nil: Faults.BodySize bytes.
	Body func(*H2Request) []byte
}

// An H2Server is a faulty HTTP/2 server on a loopback port of its own. Its oracle and
// its Report are like a Server's.
type H2Server struct {
	port
	tls      *tls.Config
	handler  func(*H2Conn)
	keep     int
	makeBody func(*H2Request) []byte
	plan     atomic.Pointer[h2Plan]
	refuse   atomic.Int64 // of the coming streams
	waves    h2Waves
	cuts     cutter
	oracle   oracle
	book     h2Book

	mu     sync.Mutex // guards what follows; never held while taking an H2Conn's
	closed bool
	count  Count // but for Open, which is that of open
	open   map[*H2Conn]struct{}

	accepted acceptTimes
}

// An h2Plan is H2Faults prepared for use.
type h2Plan struct {
	H2Faults
	body []byte
}

// StartH2 listens on 127.0.0.1 and serves until Close.
func StartH2(o H2Options) (*H2Server, error) {
	s := NewH2(o)
	if err := s.listen(); err != nil {
		return nil, err
	}
	s.wg.Go(func() { s.accept(func(raw *net.TCPConn) func() { return s.adopt(raw) }) })
	return s, nil
}

// NewH2 makes a server that listens nowhere: it serves what ServeConn is given. It has
// no Addr.
func NewH2(o H2Options) *H2Server {
	s := &H2Server{handler: o.Handler, keep: o.KeepBody, makeBody: o.Body, open: make(map[*H2Conn]struct{})}
	if s.handler == nil {
		s.handler = (*H2Conn).Serve
	}
	if o.TLS != nil {
		s.tls = o.TLS.Clone()
		if len(s.tls.NextProtos) == 0 {
			s.tls.NextProtos = []string{http2.NextProtoTLS}
		}
	}
	s.done = make(chan struct{})
	s.SetFaults(o.Faults)
	return s
}

// ServeConn serves a connection, in memory perhaps, until it ends or the server is closed.
func (s *H2Server) ServeConn(nc net.Conn) {
	if !s.enter() {
		_ = nc.Close()
		return
	}
	defer s.wg.Done()
	if serve := s.adopt(nc); serve != nil {
		serve()
	}
	_ = nc.Close()
}

// enter makes Close wait for the caller, who calls wg.Done; false: the server is closed.
func (s *H2Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.wg.Add(1)
	}
	return !s.closed
}

// SetFaults replaces the faults. What is announced in SETTINGS is for new connections;
// a connection that is idle now keeps its idle timeout.
func (s *H2Server) SetFaults(f H2Faults) {
	f.BodySize = min(max(f.BodySize, 0), maxBody)
	s.refuse.Store(int64(f.Refuse))
	s.plan.Store(&h2Plan{f, Pattern(f.BodySize)})
}

// refuses reports whether a new stream with the request id is to be refused;
// over says that too many are open.
func (s *H2Server) refuses(id uint64, over bool) bool {
	return s.takeRefusal() || s.waves.refuse(s.plan.Load().Waves, id, over)
}

// takeRefusal reports whether a new stream is to be refused.
func (s *H2Server) takeRefusal() bool {
	for {
		n := s.refuse.Load()
		if n <= 0 {
			return n < 0
		}
		if s.refuse.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

func (s *H2Server) body(q *H2Request) []byte {
	if s.makeBody != nil {
		return s.makeBody(q)
	}
	return s.plan.Load().body
}

// adopt counts a new connection, and returns what serves it; nil once the server is closed.
func (s *H2Server) adopt(raw net.Conn) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	c := newH2Conn(s, raw, s.count.Accepted)
	s.open[c] = struct{}{}
	s.count.add(len(s.open))
	s.accepted.add()
	s.book.add(c)
	return func() {
		defer s.release(c)
		defer c.Close(BareFIN)
		s.serve(c)
	}
}

func (s *H2Server) serve(c *H2Conn) {
	h2, err := c.open()
	if err != nil {
		return
	}
	if !h2 {
		c.serveHTTP1()
		return
	}
	c.start()
	if c.preface() == nil {
		s.handler(c)
	}
}

func (s *H2Server) release(c *H2Conn) {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	s.book.note(c, func(r *H2ConnReport) { r.Open = false })
}

func (s *H2Server) conns() []*H2Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	cs := make([]*H2Conn, 0, len(s.open))
	for c := range s.open {
		cs = append(cs, c)
	}
	return cs
}

// GoAway ends all connections in Serve as g says, as at a restart, and returns how many.
func (s *H2Server) GoAway(g H2GoAway) int {
	if !s.enter() {
		return 0
	}
	defer s.wg.Done() // so that Close waits for what departLocked starts
	n := 0
	for _, c := range s.conns() {
		if c.depart(g) {
			n++
		}
	}
	return n
}

// depart is departLocked for others than the connection's goroutine. It reports whether
// the connection is in Serve and wasn't on its way out.
func (c *H2Conn) depart(g H2GoAway) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.serving || c.leave.begun {
		return false
	}
	_ = c.departLocked(g)
	_ = c.bw.Flush()
	return true
}

// Close stops listening, closes all connections and waits until the handlers have
// returned. Nothing is executed after it. It may be called again.
func (s *H2Server) Close() {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		s.shut()
		for _, c := range s.conns() {
			c.Close(BareFIN)
		}
	}
	s.wg.Wait()
}
