package fakenet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// defaultBuffer is how many unread bytes a direction holds, about what a socket does.
const defaultBuffer = 256 << 10

// A stream is one direction of a connection.
type stream struct {
	mu   sync.Mutex // guards the following; cond uses it
	cond *sync.Cond // something changed
	buf  []byte     // written and not read
	max  int        // of buf

	fin    bool  // the writer has closed its side
	wgone  bool  // the writer's end is closed: its calls fail
	rgone  bool  // the reader's end is closed
	reset  error // what the reader gets behind buf, and the writer in place of a FIN
	accept int   // bytes still accepted before fault, if that is set
	fault  error // what the writer gets then

	rlimit, wlimit limit
}

// A limit is a deadline.
type limit struct {
	at time.Time
	t  *time.Timer
}

func newStream() *stream {
	s := &stream{max: defaultBuffer}
	s.cond = sync.NewCond(&s.mu)
	return s
}

func (l *limit) passed() bool { return !l.at.IsZero() && !time.Now().Before(l.at) }

// set changes a deadline; t zero: none.
func (s *stream) set(l *limit, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.t != nil {
		l.t.Stop()
		l.t = nil
	}
	l.at = t
	if !t.IsZero() {
		l.t = time.AfterFunc(time.Until(t), s.wake)
	}
	s.cond.Broadcast()
}

func (s *stream) wake() {
	s.mu.Lock()
	s.cond.Broadcast()
	s.mu.Unlock()
}

// change does f under the lock and wakes everyone.
func (s *stream) change(f func()) {
	s.mu.Lock()
	f()
	s.cond.Broadcast()
	s.mu.Unlock()
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.rgone:
			return 0, net.ErrClosed
		case s.rlimit.passed():
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case len(s.buf) > 0:
			n := copy(p, s.buf)
			s.buf = s.buf[n:]
			s.cond.Broadcast()
			return n, nil
		case s.reset != nil:
			err := s.reset
			s.reset, s.fin = nil, true // once; EOF after that
			return 0, err
		case s.fin:
			return 0, io.EOF
		}
		s.cond.Wait()
	}
}

// write accepts p piece by piece, as room comes. answered is called, without locks,
// when bytes met a closed end.
func (s *stream) write(p []byte, answered func()) (n int, err error) {
	s.mu.Lock()
	for len(p) > 0 && err == nil {
		var took int
		took, err = s.offerLocked(p)
		n += took
		p = p[took:]
		if took == 0 && err == nil {
			s.cond.Wait()
		}
	}
	met := n > 0 && s.rgone
	s.mu.Unlock()
	if met {
		answered()
	}
	return n, err
}

func (s *stream) offerLocked(p []byte) (int, error) {
	switch {
	case s.wgone:
		return 0, net.ErrClosed
	case s.fin, s.reset != nil:
		return 0, os.NewSyscallError("write", syscall.EPIPE)
	case s.wlimit.passed():
		return 0, os.ErrDeadlineExceeded
	case s.fault != nil && s.accept == 0:
		return 0, s.fault
	}
	room := s.max - len(s.buf)
	if s.rgone {
		room = len(p) // it's thrown away
	}
	if s.fault != nil {
		room = min(room, s.accept)
	}
	n := max(0, min(room, len(p)))
	s.accept -= min(n, s.accept)
	if !s.rgone {
		s.buf = append(s.buf, p[:n]...)
		s.cond.Broadcast()
	}
	return n, nil
}
