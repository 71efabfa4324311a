package pool

import (
	"slices"
	"time"
)

// The watcher tells at once of a FIN or an RST. What else can arrive on an idle HTTP/1.1
// connection (a TLS layer's close_notify whose FIN comes seconds later, a 408, bytes that
// nobody asked for) it tells only of a connection that rests, as to say so takes a system
// call. So connections rest when they have been idle for a moment, and busy ones never pay.

// restAfter is for how long a connection is idle before it rests.
const restAfter = 50 * time.Millisecond

// restLaterLocked sees to it that c, which has become idle, rests in time.
func (h *host) restLaterLocked(c *conn) {
	if !c.canRest() || c.restless {
		return
	}
	c.restless = true
	if h.restless = append(h.restless, c); len(h.restless) == 1 {
		time.AfterFunc(restAfter, h.restIdle)
	}
}

// canRest tells whether there is a watch, and a look that can follow it. HTTP/2 connections
// are read all the time.
func (c *conn) canRest() bool { return c.watch != nil && c.h1 != nil && c.vigil == nil }

// restIdle lets those rest that have been idle for long enough. Those in use come anew when they
// are idle.
func (h *host) restIdle() {
	var due []*conn
	h.mu.Lock()
	now := time.Now()
	h.restless = slices.DeleteFunc(h.restless, func(c *conn) bool {
		idle := c.state == connIdle
		c.restless = idle && now.Sub(c.idleSince) < restAfter
		if idle && !c.restless {
			due = append(due, c)
		}
		return !c.restless
	})
	if len(h.restless) > 0 {
		time.AfterFunc(restAfter, h.restIdle)
	} else {
		h.restless = nil // don't keep the memory of the largest burst
	}
	h.mu.Unlock()
	for _, c := range due {
		c.watch.Rest(c.onArrival) // if it is in use by now, its answer ends that
	}
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
