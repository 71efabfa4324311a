package h1

import "example.com/connwise/internal/wire"

// An Owner is told of the end of an exchange whose Start has returned an answer:
// once, outside all locks, from whichever goroutine ended it.
type Owner interface {
	// ExchangeDone says whether another request may be sent on the connection. If not,
	// the connection is closed already, and why tells the reason. It must not block.
	ExchangeDone(reusable bool, why wire.End)
}

// A state is how far an exchange has come. It has two halves, the request's and the
// answer's, and ends when both are over, or when one fails. Exchange.mu guards it.
type state struct {
	opened   bool // Start has an answer: the owner is to be told of the end
	closed   bool // Close was called
	readEnd  bool // the answer is over
	writeEnd bool // nothing more of the request will be written
	ended    bool // the outcome is settled: why, and err if it failed
	why      wire.End
	err      error

	headDone bool  // the answer's head is there
	keep     bool  // both sides want to keep the connection
	surplus  bool  // bytes came behind the answer
	writeErr error // a write failed; an answer may be there nevertheless
}

// verdict says how an exchange ends whose answer is over.
func (s *state) verdict() wire.End {
	switch {
	case s.surplus:
		return wire.EndSurplus
	case !s.keep:
		return wire.EndNotKept
	case s.writeErr != nil:
		return wire.EndUpload
	}
	return wire.EndKept
}

// settle ends the exchange if nothing is left to do, or to gain: an answer behind
// which the peer closes isn't worth the rest of an upload.
func (x *Exchange) settle() {
	x.mu.Lock()
	why := x.verdict()
	if x.ended || !x.opened || !x.readEnd || !x.writeEnd && why == wire.EndKept {
		x.mu.Unlock()
		return
	}
	x.ended, x.why = true, why
	x.alarms.offLocked()
	uploading := !x.writeEnd
	x.mu.Unlock()
	if why != wire.EndKept {
		x.closeConn(why)
	}
	x.conclude(why)
	if uploading {
		x.halt()
	}
}

// fail records why the exchange failed and closes the connection. The first failure
// counts; after the end of the exchange there is none. It reports whether it counted.
func (x *Exchange) fail(why wire.End, err error) bool {
	x.mu.Lock()
	if x.ended {
		x.mu.Unlock()
		return false
	}
	x.ended, x.why, x.err = true, why, err
	x.alarms.offLocked()
	opened := x.opened
	if x.up != nil {
		x.up.stopLocked()
	}
	x.mu.Unlock()
	x.closeConn(why)
	if opened {
		x.conclude(why)
	}
	return true
}

// failNow is fail for goroutines that are neither Start's nor the upload's: it also
// takes back what the exchange holds. While Start runs, that is Start's to do.
func (x *Exchange) failNow(why wire.End, err error) {
	if !x.fail(why, err) {
		return
	}
	x.mu.Lock()
	opened := x.opened
	x.mu.Unlock()
	if opened {
		x.reclaim()
	}
}

// closeConn closes the connection, with a word of farewell where nothing went wrong.
func (x *Exchange) closeConn(why wire.End) {
	if why == wire.EndNotKept || why == wire.EndUpgraded {
		x.c.finish()
	} else {
		x.c.kill()
	}
}

// conclude lets go of the connection and tells the owner.
func (x *Exchange) conclude(why wire.End) {
	x.unwatch()
	x.c.end()
	x.owner.ExchangeDone(why == wire.EndKept, why)
}

// reclaim takes back what a failed exchange holds. A Read under way does it itself.
func (x *Exchange) reclaim() {
	if x.rmu.TryLock() {
		x.dropReader()
		x.dropGzip()
		x.rmu.Unlock()
	}
	x.halt()
}

// failure returns why the exchange failed; nil if it didn't, or hasn't yet.
func (x *Exchange) failure() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err
}
