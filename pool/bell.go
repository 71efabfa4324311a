package pool

import "time"

// A bell is what a waiter listens to while it waits: for what it is given, and for the end of
// its time. Where more requests come than connections are allowed each of them waits, so bells
// are used again.
type bell struct {
	ready chan delivery // buffered, one delivery at most; empty when nobody has the bell
	timer *time.Timer   // stopped when nobody has the bell; nil: it was never needed
}

// giveBell is called under host.mu, before w is queued.
func (t *Transport) giveBell(w *waiter) {
	b, _ := t.bells.Get().(*bell)
	if b == nil {
		b = &bell{ready: make(chan delivery, 1)}
	}
	w.bell, w.ready = b, b.ready
}

// takeBell takes it back, when w's wait is over: it isn't queued any more, and what it was
// given has been received.
func (t *Transport) takeBell(w *waiter) {
	b := w.bell
	w.bell, w.ready = nil, nil
	if b.timer != nil {
		b.timer.Stop()
	}
	t.bells.Put(b)
}

// after is a channel that gets something after d.
func (b *bell) after(d time.Duration) <-chan time.Time {
	if b.timer == nil {
		b.timer = time.NewTimer(d)
	} else {
		b.timer.Reset(d)
	}
	return b.timer.C
}
