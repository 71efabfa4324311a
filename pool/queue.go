package pool

import (
	"context"
	"sync/atomic"
	"time"
)

// A waiter is a request that waits for a connection. It is in exactly one of three
// states, all under host.mu: queued, delivered to (what it was given lies in ready),
// or gone.
type waiter struct {
	ready chan delivery   // buffered, one delivery at most; the bell's
	bell  *bell           // while it waits for a Transport's connection; else nil
	since time.Time       // when its wait began, or began anew
	ctx   context.Context // the request's: a dial takes its values
	http1 bool            // only HTTP/1 will do

	choosy bool // it could have another connection, and hopes for a better one: see fresh.go

	place      uint64        // in the order of arrival; it keeps it when it has to wait anew
	met        int           // how many were in the queue when it came, itself included
	spent      time.Duration // waited before since
	unbooked   time.Duration // of that, what isn't in host.waits yet
	waited     bool          // there is something unbooked
	queued     bool
	dialled    bool       // a dial was started on its behalf
	gate       *traceGate // that dial's way to the request's trace hooks
	next, prev *waiter
}

// end is called when the waiter was served or gave up, without host.mu. A dial on its
// behalf may live on, but calls none of its hooks; should it have to wait again, it may
// have another one. A nil waiter never waited.
func (w *waiter) end() {
	if w != nil {
		w.gate.shut()
		w.gate, w.dialled = nil, false
	}
}

// A delivery is a connection, or why there is none. With an error, dialled says that
// a dial failed (and not that the transport was closed).
type delivery struct {
	c       *conn
	reused  bool // it was used before
	err     error
	dialled bool
}

// A queue is a FIFO of waiters from which any can leave in constant time.
// The zero queue is empty.
type queue struct {
	head, tail *waiter
	n          int
	choosy     int         // of n
	any        atomic.Bool // n > 0, to be read without host.mu
	places     uint64      // given so far
}

func (q *queue) len() int { return q.n }

// push adds a waiter that has just come.
func (q *queue) push(w *waiter) {
	q.places++
	w.place = q.places
	q.insert(w, q.tail)
}

// putBack puts back a waiter whose connection turned out to be no good: before those that
// came after it. Others may have been put back already, as a shared connection has many.
func (q *queue) putBack(w *waiter) {
	var before *waiter
	for x := q.head; x != nil && x.place < w.place; x = x.next {
		before = x
	}
	q.insert(w, before)
}

// insert adds w behind prev, at the front if that is nil.
func (q *queue) insert(w, prev *waiter) {
	next := q.head
	if prev != nil {
		next = prev.next
	}
	w.queued, w.prev, w.next = true, prev, next
	if prev != nil {
		prev.next = w
	} else {
		q.head = w
	}
	if next != nil {
		next.prev = w
	} else {
		q.tail = w
	}
	if q.n++; q.n == 1 {
		q.any.Store(true)
	}
	if w.choosy {
		q.choosy++
	}
}

// pop takes the oldest waiter, nil if there is none.
func (q *queue) pop() *waiter {
	w := q.head
	if w != nil {
		q.remove(w)
	}
	return w
}

// oldest is the oldest waiter that a connection can serve, nil if there is none. With HTTP/2
// it passes over those who need HTTP/1: a host may be known to speak that, or not to, and
// have connections of both.
func (q *queue) oldest(http2 bool) *waiter {
	w := q.head
	for w != nil && http2 && w.http1 {
		w = w.next
	}
	return w
}

// remove takes w out. It must be queued.
func (q *queue) remove(w *waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		q.head = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		q.tail = w.prev
	}
	w.queued, w.next, w.prev = false, nil, nil
	if q.n--; q.n == 0 {
		q.any.Store(false)
	}
	if w.choosy {
		q.choosy--
	}
}

// index is w's place from the front, counted from zero.
func (q *queue) index(w *waiter) int {
	i := 0
	for x := q.head; x != nil && x != w; x = x.next {
		i++
	}
	return i
}

// undialled is the oldest waiter for whom no dial was started, nil if there is none.
func (q *queue) undialled() *waiter {
	if w := q.tail; w != nil && !w.dialled && (w.prev == nil || w.prev.dialled) {
		return w // the common case: the newest one has just come
	}
	w := q.head
	for w != nil && w.dialled {
		w = w.next
	}
	return w
}
