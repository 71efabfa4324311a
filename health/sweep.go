package health

import (
	"sync"
	"syscall"
	"time"
)

// A sweeper is a lookout for platforms without a better one: it looks at every watched
// connection now and then. It never waits in a look, and takes nothing from the socket, so
// that it does no harm beside a Read.
type sweeper struct {
	look  func(fd uintptr) (ended, unread bool)
	every time.Duration // the shortest time between two sweeps

	mu       sync.Mutex // guards the following
	watchers []*Watcher // each knows its place: token is its index plus one
	running  bool
}

// sweeping is the process's sweeper.
var sweeping = sweeper{look: arrived, every: sweepInterval}

// A sweep looks at so many connections between two turns of the lock. Between two sweeps the
// sweeper waits for 100 times as long as the last one took, within these limits.
const (
	sweepChunk    = 128
	sweepShare    = 100
	sweepInterval = 100 * time.Millisecond
	sweepLongest  = 5 * time.Second
)

// pauseAfter is how long to wait after a sweep that took so long.
func (s *sweeper) pauseAfter(took time.Duration) time.Duration {
	return min(max(sweepShare*took, s.every), sweepLongest)
}

// add watches w.conn unless that is closed.
func (s *sweeper) add(w *Watcher) bool {
	if w.conn.Control(func(uintptr) {}) != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.by = s
	s.watchers = append(s.watchers, w)
	w.token = uint64(len(s.watchers))
	if !s.running {
		s.running = true
		go s.run()
	}
	return true
}

func (s *sweeper) run() {
	timer := time.NewTimer(s.every)
	defer timer.Stop()
	for {
		<-timer.C
		start := time.Now()
		if !s.sweep() {
			return
		}
		timer.Reset(s.pauseAfter(time.Since(start)))
	}
}

// sweep looks at all connections. It reports false, and the sweeper is over, if there are
// none.
//
// It goes from the last place to the first: leaveLocked fills a gap with the last one, which
// then has been looked at already or is still to come.
func (s *sweeper) sweep() bool {
	var chunk [sweepChunk]*Watcher
	g := newGlance(s.look)
	for end := s.begin(); end > 0; {
		s.mu.Lock()
		end = min(end, len(s.watchers))
		n := copy(chunk[:], s.watchers[max(end-sweepChunk, 0):end])
		s.mu.Unlock()
		for _, w := range chunk[:n] {
			s.tell(w, g)
		}
		end -= n
	}
	return s.goesOn()
}

// begin returns how many connections there are.
func (s *sweeper) begin() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watchers)
}

func (s *sweeper) goesOn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running = len(s.watchers) > 0; !s.running {
		s.watchers = nil // don't keep the memory of the largest size
	}
	return s.running
}

// tell looks at one connection and calls what is to be called.
func (s *sweeper) tell(w *Watcher, g *glance) {
	switch ended, unread := g.at(w.conn); {
	case ended:
		if s.leave(w) {
			w.closed()
		}
	case unread:
		if arrived := s.awake(w); arrived != nil {
			arrived()
		}
	}
}

func (s *sweeper) stop(w *Watcher) bool { return s.leave(w) }

// leave takes w out. Only the first call returns true.
func (s *sweeper) leave(w *Watcher) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.token == 0 {
		return false
	}
	i, last := int(w.token-1), len(s.watchers)-1
	s.watchers[i] = s.watchers[last]
	s.watchers[i].token = w.token
	s.watchers[last] = nil
	s.watchers = s.watchers[:last]
	w.token, w.arrived = 0, nil
	return true
}

func (s *sweeper) rest(w *Watcher, arrived func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.token == 0 {
		return false
	}
	w.arrived = arrived
	return true
}

// awake ends w's rest and returns what is to be called.
func (s *sweeper) awake(w *Watcher) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	arrived := w.arrived
	w.arrived = nil
	return arrived
}

// A glance looks at one connection after another without an allocation.
type glance struct {
	look          func(fd uintptr) // bound once
	ended, unread bool
}

func newGlance(look func(fd uintptr) (ended, unread bool)) *glance {
	g := &glance{}
	g.look = func(fd uintptr) { g.ended, g.unread = look(fd) }
	return g
}

// at finds nothing on a connection that is closed on this side: that is no news.
func (g *glance) at(c syscall.RawConn) (ended, unread bool) {
	if c.Control(g.look) != nil {
		return false, false
	}
	return g.ended, g.unread
}
