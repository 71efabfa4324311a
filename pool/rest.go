package pool

import (
	"slices"
	"sync"
	"time"
)

// The watcher tells at once of a FIN or an RST. What else can arrive on an idle HTTP/1.1
// connection (a TLS layer's close_notify whose FIN comes seconds later, a 408, bytes that
// nobody asked for) it tells only of a connection that rests, as to say so takes a system
// call, and another one to say that it is used again. So connections rest when they have been
// idle for a moment, and busy ones never pay. One that was used all the same when it rested
// is idle for longer the next time before it does: a pool that goes round many hosts, and comes
// back to each a few times in a second, would else pay for both with every request.

const (
	// restAfter is for how long a connection is idle before it rests, at first, and restTimes
	// how many times as long as the idle time that ended its last rest it is from then on; but
	// mostRestAfter is enough.
	restAfter     = 50 * time.Millisecond
	restTimes     = 2
	mostRestAfter = 5 * time.Second
	// restPause, for each connection that a round left, is the time until the next one, if that
	// is more than restAfter: a look takes a fraction of a microsecond, so rounds take no more
	// than about a percent of a processor however many there are. It is mostRestAfter at most.
	restPause = 20 * time.Microsecond
)

// A restList has the hosts with connections that may have to rest. One timer goes round all of
// them; it costs less than one for each, and is set only while there is somebody in the list.
type restList struct {
	mu    sync.Mutex // taken under host.mu; nothing is taken under it
	hosts []*host
	timer *time.Timer // nil until there was somebody
	going bool        // the timer is set, or a round under way
}

// restLaterLocked sees to it that c, which has become idle, rests in time.
func (h *host) restLaterLocked(c *conn) {
	if !c.canRest() || c.restless {
		return
	}
	c.restless = true
	h.restless = append(h.restless, c)
	if !h.restListed {
		h.restListed = true
		h.t.resting.add(h)
	}
}

// canRest tells whether there is a watch, and a look that can follow it. HTTP/2 connections
// are read all the time.
func (c *conn) canRest() bool { return c.watch != nil && c.h1 != nil && c.vigil == nil }

func (l *restList) add(h *host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts = append(l.hosts, h)
	if l.going {
		return
	}
	l.going = true
	if l.timer == nil {
		l.timer = time.AfterFunc(restAfter, l.round)
	} else {
		l.timer.Reset(restAfter)
	}
}

// round lets those rest that are due at all hosts, and sees to it that the next round comes if
// there are others.
func (l *restList) round() {
	l.mu.Lock()
	hosts := l.hosts
	l.hosts = nil
	l.mu.Unlock()
	conns := 0
	left := slices.DeleteFunc(hosts, func(h *host) bool {
		n := h.restIdle(time.Now())
		conns += n
		return n == 0
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hosts = append(left, l.hosts...); len(l.hosts) == 0 {
		l.hosts, l.going = nil, false // don't keep the memory of the largest size
		return
	}
	l.timer.Reset(roundPause(conns))
}

// roundPause is the time until the next round after one that left so many connections.
func roundPause(conns int) time.Duration {
	return min(max(restAfter, time.Duration(conns)*restPause), mostRestAfter)
}

// restIdle lets those rest that have been idle for long enough. Those in use come anew when they
// are idle. It returns how many others are left, for which the host stays in the list.
func (h *host) restIdle(now time.Time) (left int) {
	var due []*conn
	h.mu.Lock()
	h.restless = slices.DeleteFunc(h.restless, func(c *conn) bool {
		idle := c.state == connIdle
		c.restless = idle && now.Sub(c.idleSince) < max(c.restAfter, restAfter)
		if idle && !c.restless {
			c.rests = true
			due = append(due, c)
		}
		return !c.restless
	})
	left = len(h.restless)
	if h.restListed = left > 0; left == 0 {
		h.restless = nil // don't keep the memory of the largest burst
	}
	h.mu.Unlock()
	for _, c := range due {
		c.watch.Rest(c.onArrival) // if it is in use by now, its answer ends that
	}
	return left
}

// wakeLocked is called for c, which has been idle for so long and was taken for a request. It
// reports whether it rested: then Watcher.Use is to be called.
func (c *conn) wakeLocked(idle time.Duration) (rested bool) {
	if rested, c.rests = c.rests, false; rested {
		c.restAfter = min(restTimes*idle, mostRestAfter)
	}
	return rested
}

// onArrival runs on the watcher's goroutine when something has come on a connection that
// rests.
func (c *conn) onArrival() {
	if c.hooked() {
		go c.h.lookAtResting(c)
	} else {
		c.h.lookAtResting(c)
	}
}

// hooked tells whether the connection is a dial hook's, and may take its time to close.
func (c *conn) hooked() bool { return c.h.route.Connect != nil || c.h.route.ConnectTLS != nil }

// lookAtResting looks at c if it is still idle, and closes it or lets it rest on: what has
// come may be session tickets.
func (h *host) lookAtResting(c *conn) {
	h.mu.Lock()
	idle := h.takeIdleLocked(c)
	c.rests = c.rests && !idle
	h.mu.Unlock()
	if !idle {
		return
	}
	if reason, err := c.look(); err != nil {
		h.noteIdleClose(c, err)
		h.drop(c, reason)
		return
	}
	h.giveBack(c, true)
}
