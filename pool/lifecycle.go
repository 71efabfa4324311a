package pool

import (
	"context"
)

// The states of a Transport's life.
const (
	stateOpen    int32 = iota
	stateClosing       // Shutdown: no new request
	stateClosed        // Close: nothing any more
)

func (t *Transport) closing() bool { return t.state.Load() >= stateClosing }
func (t *Transport) closed() bool  { return t.state.Load() == stateClosed }

func (t *Transport) raise(state int32) {
	for old := t.state.Load(); old < state; old = t.state.Load() {
		t.state.CompareAndSwap(old, state)
	}
}

// CloseIdleConnections closes the idle connections before it returns. Those in use are
// closed when their requests are done, and dials under way are not kept for later. New
// requests open new connections. With MinIdlePerHost, new ones are opened at once for hosts in
// use.
func (t *Transport) CloseIdleConnections() {
	for _, h := range t.allHosts() {
		h.outdate()
	}
}

// outdate retires all of the host's connections, those in use when they come back.
func (h *host) outdate() {
	h.mu.Lock()
	h.epoch++
	h.tray.epoch.Store(h.epoch)
	h.mu.Unlock()
	h.dropIdleIf(func(*conn) (CloseReason, bool) { return ReasonIdleClosed, true })
}

// Drain retires the connections of one host, given as Stats names it ("host:port"), on
// all ways to it: idle ones at once, those in use when their requests are done. New
// requests open new connections, and with MinIdlePerHost new ones are opened at once if the
// host is in use. An unknown host is no error: there is nothing to do. (The connections for
// plain http through an http proxy are the proxy's.) It waits for no request and no peer.
func (t *Transport) Drain(host string) {
	for _, h := range t.allHosts() {
		if h.key.addr == host {
			h.outdate()
		}
	}
}

// Shutdown lets the requests end that have begun, the waiting ones included; new ones
// fail with ErrClosed. It returns when the last connection is closed, or with ctx's
// error: then requests are still under way, and Close ends them.
func (t *Transport) Shutdown(ctx context.Context) error {
	t.raise(stateClosing)
	for {
		for _, h := range t.allHosts() {
			h.endKeeping()
		}
		t.CloseIdleConnections()
		if t.closed() || t.atRest() {
			return t.Close()
		}
		select {
		case <-t.quiet:
		case <-t.ctx.Done(): // closed, by another Shutdown maybe
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (t *Transport) atRest() bool {
	for _, h := range t.allHosts() {
		h.mu.Lock()
		quiet := h.quietLocked()
		h.mu.Unlock()
		if !quiet {
			return false
		}
	}
	return true
}

// quietLocked tells whether nothing of h is left that Shutdown waits for.
func (h *host) quietLocked() bool { return h.emptyLocked() && h.trips.Load() == 0 }

// tripDone is called when a request has its answer, or failed. The host may be nil.
func (h *host) tripDone() {
	if h != nil && h.trips.Add(-1) == 0 && h.t.closing() {
		h.mu.Lock()
		h.t.noteQuietLocked(h)
		h.mu.Unlock()
	}
}

// noteQuietLocked wakes Shutdown when h has come to rest.
func (t *Transport) noteQuietLocked(h *host) {
	if t.closing() && h.quietLocked() {
		select {
		case t.quiet <- struct{}{}:
		default: // it is already to look
		}
	}
}

// Close ends everything at once: idle connections are closed, requests under way fail
// with ErrClosed in an *Error that says how far they got, and so do new ones. It doesn't
// wait for a peer or for those requests: Stats counts their connections until they have
// noticed. It waits for the dials that it has cut, so it must not be called from a trace hook
// of one. It is no error to call it again.
func (t *Transport) Close() error {
	t.raise(stateClosed)
	t.cancel()
	for _, h := range t.allHosts() {
		h.end()
	}
	t.dials.Wait() // they have been cancelled, and don't wait for anybody
	return nil
}

// end fails the waiters and closes the connections. Those in use are retired by their
// holders.
func (h *host) end() {
	var busy []*conn
	h.mu.Lock()
	h.stopSweepLocked()
	covered := h.coveredLocked()
	for i, alone := 0, h.inUseLocked() == 0; h.queue.head != nil; i++ { // as waitPhaseLocked has it
		h.queue.pop().ready <- delivery{err: ErrClosed, dialled: i < covered || alone && h.dialing > 0}
	}
	for c := range h.conns {
		if c.state == connInUse {
			busy = append(busy, c)
		}
	}
	h.mu.Unlock()
	h.endKeeping()
	h.dropIdleIf(func(*conn) (CloseReason, bool) { return ReasonClosed, true })
	for _, c := range busy {
		c.kill(ErrClosed)
	}
}
