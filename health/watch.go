package health

import (
	"net"
	"syscall"
)

// A Watcher is the watch over one connection. It is made by Watch.
type Watcher struct {
	closed func()
	conn   syscall.RawConn
	by     lookout // set before closed can be called

	// Guarded by the lookout.
	arrived func() // nil: the connection doesn't rest
	token   uint64 // what the lookout knows the watch by
}

// A lookout is the way in which connections are watched.
type lookout interface {
	// stop is Watcher.Stop, and rest Watcher.Rest. awake ends the rest, and returns what was
	// to be called; nil: the connection didn't rest.
	stop(w *Watcher) bool
	rest(w *Watcher, arrived func()) bool
	awake(w *Watcher) (arrived func())
}

// Watch calls closed when c's peer has closed the connection: once, when its FIN or its
// RST has arrived, soon if that was before. It returns nil where that can't be done: c is
// no socket and wraps none (see Socket), the platform has no way (Windows), or, on Linux,
// c is watched already.
//
// On Linux that takes some microseconds, and arrivals of data cost nothing. Elsewhere, and
// if there is no epoll instance to be had, a sweeper peeks at all watched connections ten
// times a second; more rarely if there are so many that it would take more than about one
// percent of a processor, at most every 5 s. On platforms other than Linux bytes that wait
// to be read hide a FIN from it until they have been read.
//
// closed runs on the one goroutine that serves all watches, maybe before Watch has
// returned. It must not block, and must not wait for anything that does. It may call Stop.
//
// Stop has to be called before c is closed, or right after: until then the watch is kept,
// and the goroutine with it. The goroutine (and on Linux its file descriptor) comes with the
// first watch and goes about 200 ms after the last; the sweeper's goes at its next sweep.
//
// What a TLS layer says is not seen: a close_notify without a FIN is found by a look only.
// Rest tells when it's worth one.
func Watch(c net.Conn, closed func()) *Watcher {
	conn, _ := socketOf(c)
	if conn == nil {
		return nil
	}
	w := &Watcher{closed: closed, conn: conn}
	if !watch(w) {
		return nil
	}
	return w
}

// Rest says that nothing is expected to arrive on the connection for a while: it's idle.
// arrived is called, once, when bytes have arrived after all or are there already. Then it's
// time for a look: they may be surplus, a TLS layer's close_notify whose FIN hasn't come, or
// no more than session tickets. After a look that finds the connection alive, and whenever it
// is idle again, Rest may be called anew; each call replaces the one before. When the end
// itself arrives closed is called, and not arrived.
//
// Rest costs a system call, so it's for connections that have been idle for a while. Use ends
// it.
//
// Rest reports whether arrived will be called: false on nil, after Stop, and after closed
// was called. What is said of closed in Watch goes for arrived, too; arrived may call Rest.
// Like closed, it may come to run after Stop was called, if it was on its way.
func (w *Watcher) Rest(arrived func()) bool { return w != nil && w.by.rest(w, arrived) }

// Use says that a connection that rested is used again: what arrives was asked for. arrived
// won't be called, unless that is on its way. Without Use the first arrivals of the answer
// would wake the watching goroutine and cause the call; with it they cost nothing. Where the
// connection doesn't rest, or isn't watched any more, or on nil, Use does nothing.
func (w *Watcher) Use() {
	if w != nil {
		w.by.awake(w)
	}
}

// Stop ends the watch. It reports whether closed was kept from being called: false says
// that closed was called or is being called, or that Stop was called before. Stop doesn't
// wait for closed or arrived to return. On nil it does nothing and returns false.
func (w *Watcher) Stop() bool { return w != nil && w.by.stop(w) }
