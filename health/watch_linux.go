package health

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// lingering is how long the watching goroutine outlives its last watch, so that a pool
// that closes one connection and opens the next doesn't start it anew each time.
const lingering = 200 * time.Millisecond

// The process's watches. The runtime's own poller asks for every arrival of data; this
// one is a second epoll instance that asks for hang-ups only, so that it sleeps while
// data flows. It is itself read through the runtime's poller and costs no thread.
var watches struct {
	mu sync.Mutex
	// byToken has the watches that have neither fired nor been stopped.
	byToken map[uint64]*Watcher
	// token is the last one given out. Tokens are never used twice, so an event that was
	// under way when its connection was closed can't meet the next one on its descriptor.
	token uint64
	// in is the instance in use; nil: none is running.
	in *instance
}

// watch has the kernel tell of w's end. If it won't, for it's out of descriptors, of memory,
// or of the number of watches that a user may have, the sweeper looks.
func watch(w *Watcher) bool {
	in := enter(w)
	if in == nil {
		return sweeping.add(w)
	}
	err := in.add(w.conn, w.token)
	if err == nil {
		return true
	}
	w.leave()
	return !errors.Is(err, unix.EEXIST) && sweeping.add(w)
}

// makeInstance is newInstance, but for tests.
var makeInstance = newInstance

// enter puts w into the table, which keeps an instance running for it; nil: there is none.
func enter(w *Watcher) *instance {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	if watches.in == nil {
		in, err := makeInstance()
		if err != nil {
			return nil
		}
		watches.in = in
		go in.run()
	}
	if len(watches.byToken) == 0 {
		watches.in.file.SetReadDeadline(time.Time{})
	}
	if watches.byToken == nil {
		watches.byToken = make(map[uint64]*Watcher)
	}
	watches.token++
	w.token, w.by = watches.token, watches.in
	watches.byToken[w.token] = w
	return watches.in
}

// leave takes w out of the table. Whoever does it decides what becomes of w: only the
// first call returns true.
func (w *Watcher) leave() bool {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	if _, ok := watches.byToken[w.token]; !ok {
		return false
	}
	delete(watches.byToken, w.token)
	w.arrived = nil
	if len(watches.byToken) == 0 {
		watches.byToken = nil // a map keeps the memory of its largest size
		if watches.in != nil {
			watches.in.file.SetReadDeadline(time.Now().Add(lingering))
		}
	}
	return true
}

func (in *instance) stop(w *Watcher) bool {
	if !w.leave() {
		return false
	}
	in.remove(w.conn)
	return true
}

// rest and awake change what the kernel is asked for under the lock, so that the last one to
// decide is the last one to ask.
func (in *instance) rest(w *Watcher, arrived func()) bool {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	if watches.byToken[w.token] != w || in.await(w.conn, w.token, true) != nil {
		return false
	}
	w.arrived = arrived
	return true
}

// awake ends w's rest and returns what is to be called; nil: it didn't rest.
func (in *instance) awake(w *Watcher) func() {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	arrived := w.arrived
	if arrived == nil || watches.byToken[w.token] != w {
		return nil // the descriptor may be under another watch already
	}
	w.arrived = nil
	in.await(w.conn, w.token, false)
	return arrived
}

// fire is called for an event with this token. ended says that it's a FIN or an RST.
func (in *instance) fire(token uint64, ended bool) {
	watches.mu.Lock()
	w := watches.byToken[token]
	watches.mu.Unlock()
	switch {
	case w == nil:
	case !ended:
		if arrived := in.awake(w); arrived != nil {
			arrived()
		}
	case w.leave():
		in.remove(w.conn)
		w.closed()
	}
}

// retire is called when the time is over, and ends in if nothing is watched any more.
func retire(in *instance) bool {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	if len(watches.byToken) > 0 {
		in.file.SetReadDeadline(time.Time{})
		return false
	}
	if watches.in == in {
		watches.in = nil
	}
	in.file.Close()
	return true
}
