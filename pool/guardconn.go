package pool

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"example.com/connwise/health"
)

// A guardConn is a connection of a Guard's and the slot that it takes, in one value. Close
// gives the slot back. Whoever has it reads on one goroutine and writes on another.
type guardConn struct {
	net.Conn // embedded for its addresses and deadlines
	h        *guardHost
	watch    *health.Watcher // nil where the platform has none; set once
	opened   time.Time
	id       uint64 // of its dial, for GuardConfig.Trace

	// accepted is never too low: see Write.
	accepted atomic.Int64

	// mu guards what follows. It is taken before host.mu. Under it there is no I/O but the look,
	// which waits for nothing.
	mu      sync.Mutex
	sense   sense
	heard   *health.Arrivals
	refusal *GuardError
	closed  bool
	// farewell is the length of the alert that was written last, zero if none was.
	farewell int64
	// ended is when the peer's FIN or RST, or its close_notify, was seen; zero: not yet.
	ended time.Time
	noted bool         // what the end teaches was taken over
	rest  bool         // at the end no request was under way
	how   health.Cause // of the end
}

func newGuardConn(nc net.Conn, h *guardHost) *guardConn {
	c := &guardConn{Conn: nc, h: h, opened: time.Now(), heard: health.NewArrivals(nc)}
	c.sense.last = c.opened
	return c
}

// watchOver begins the watch.
func (c *guardConn) watchOver() { c.watch = health.Watch(c.Conn, c.onPeerClose) }

// secured is told that the Guard's own handshake is done, which began at start.
func (c *guardConn) secured(http2 bool, start time.Time) {
	now := time.Now()
	c.mu.Lock()
	c.sense.secured(http2, now)
	c.mu.Unlock()
	proto := protocolHTTP1
	if http2 {
		proto = protocolHTTP2
	}
	c.h.noteExchange(now.Sub(start), proto)
}

// Write refuses p with a *GuardError, and closes the connection, if p may be the beginning of
// a request and the connection must not carry one. p is counted before it is written and
// what wasn't accepted is taken back, so that a reader of the count never sees too little.
func (c *guardConn) Write(p []byte) (int, error) {
	count, err := c.admit(p)
	if err != nil {
		return 0, err
	}
	c.accepted.Add(count)
	n, err := c.Conn.Write(p)
	if n = max(n, 0); n < len(p) && count > 0 {
		c.accepted.Add(int64(n - len(p)))
	}
	c.touch()
	return n, err
}

// ReadFrom lets the kernel copy, where it can, what is no beginning of a request. How much it
// takes is known afterwards only: one byte stands for all of it until then.
func (c *guardConn) ReadFrom(r io.Reader) (int64, error) {
	to, ok := c.Conn.(io.ReaderFrom)
	if !ok || c.resting() {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	c.accepted.Add(1 + c.takeFarewell())
	n, err := to.ReadFrom(r)
	c.accepted.Add(n - 1)
	c.touch()
	return n, err
}

func (c *guardConn) takeFarewell() (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, c.farewell = c.farewell, 0
	return n
}

func (c *guardConn) resting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refusal != nil || c.sense.resting()
}

// admit judges a write, tells the sense of it and says how many bytes to count.
func (c *guardConn) admit(p []byte) (count int64, _ error) {
	c.mu.Lock()
	refusal, news := c.refusal, false
	if refusal == nil {
		refusal = c.judgeLocked(p, time.Now())
		news = refusal != nil
	}
	c.refusal = refusal
	if refusal == nil {
		count = c.countLocked(p)
	}
	c.mu.Unlock()
	if news {
		c.traceRefused(refusal)
		c.Close()
	}
	if refusal != nil {
		return 0, refusal
	}
	return count, nil
}

// countLocked leaves out an alert: crypto/tls sends one when the connection is closed, and be it
// because the peer has closed it before a byte of a request was written. In case that
// it was something else, it is counted when more is written.
func (c *guardConn) countLocked(p []byte) int64 {
	n := c.farewell + int64(len(p))
	if c.farewell = 0; n == int64(len(p)) && isAlert(p) && len(p) == recordHeaderLen+recordLen(p) {
		c.farewell, n = n, 0
	}
	return n
}

// judgeLocked returns why p must not be written, or nil.
func (c *guardConn) judgeLocked(p []byte, now time.Time) *GuardError {
	s := &c.sense
	if !s.begins(p) || !s.resting() {
		s.wrote(p, now)
		return nil
	}
	idle := age(now, s.last)
	e := GuardError{Err: ErrPeerClosed}
	if ended := c.hungUpLocked(now); !ended {
		if e.Limit = c.h.limitFor(s, idle, now); e.Limit == 0 || idle < e.Limit {
			c.h.noteBegun(s)
			s.wrote(p, now)
			return nil
		}
		e.Err = ErrIdleLimit
	}
	return c.refuseLocked(e, idle)
}

// refuseLocked completes the error and counts it.
func (c *guardConn) refuseLocked(e GuardError, idle time.Duration) *GuardError {
	e.Host, e.Addr, e.Reused, e.Idle = c.h.addr, remoteAddr(c.Conn), c.sense.started, idle
	if e.Err == ErrPeerClosed {
		e.Cause = c.how
		c.h.noteStale()
	}
	return &e
}

// Read passes on what came. A connection that was refused ends with the refusal.
func (c *guardConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 || err != nil {
		if refusal := c.heardOf(p[:max(n, 0)], err); err != nil && refusal != nil {
			err = refusal
		}
	}
	return n, err
}

// heardOf tells the sense what was read.
func (c *guardConn) heardOf(p []byte, err error) *GuardError {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.sense
	switch {
	case len(p) == 0:
	case s.kind == kindTLS && isAlert(p):
		c.endLocked(health.CauseCloseNotify, now)
	case s.kind == kindUnknown && !s.started && health.IsRequestTimeout(p):
		c.endLocked(health.CauseRequestTimeout, now)
	default:
		asked := s.last
		first := s.started && !s.again && !s.answered
		s.read(p, now)
		if first && s.answered {
			c.h.noteExchange(now.Sub(asked), s.protocol())
		}
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.endLocked(health.CauseOf(err), now)
	}
	return c.refusal
}

// touch notes that bytes have passed until now.
func (c *guardConn) touch() {
	now := time.Now()
	c.mu.Lock()
	c.sense.last = now
	c.mu.Unlock()
}

// NetConn returns the connection below. What is written to it goes by the guard, and isn't
// counted.
func (c *guardConn) NetConn() net.Conn { return c.Conn }

// CloseWrite sends a FIN and leaves the other direction open.
func (c *guardConn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return errors.ErrUnsupported
}

// idle tells whether it counts as idle in Stats.
func (c *guardConn) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sense.ages() && c.sense.resting()
}
