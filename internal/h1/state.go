package h1

// An Owner is told of the end of an exchange whose Start has returned an answer:
// once, outside all locks, from whichever goroutine ended it.
type Owner interface {
	// ExchangeDone says whether another request may be sent on the connection. If not,
	// the connection is closed already, and why tells the reason. It must not block.
	ExchangeDone(reusable bool, why End)
}

// An End says how an exchange ended.
type End uint8

const (
	EndKept      End = iota // both sides are through; the connection may be used again
	EndNotKept              // a side said close, HTTP/1.0, or the connection's end delimits the answer
	EndUnread               // the body was closed with too much of it unread
	EndUpload               // the answer was over before the upload was
	EndSurplus              // bytes that nobody asked for came behind the answer
	EndCancelled            // the request's context ended, or its Cancel channel was closed
	EndTimeout              // one of Options' limits
	EndError                // the connection, the peer or the caller's body failed
	EndUpgraded             // the caller closed a connection that had switched protocols
)

var endNames = [...]string{"kept", "not kept", "unread", "upload", "surplus", "cancelled", "timeout", "error", "upgraded"}

// String returns the end's name in lower case.
func (e End) String() string {
	if int(e) < len(endNames) {
		return endNames[e]
	}
	return "unknown end"
}

// A state is how far an exchange has come. It has two halves, the request's and the
// answer's, and ends when both are over, or when one fails. Exchange.mu guards it.
type state struct {
	opened   bool // Start has an answer: the owner is to be told of the end
	closed   bool // Close was called
	readEnd  bool // the answer is over
	writeEnd bool // nothing more of the request will be written
	ended    bool // the outcome is settled: why, and err if it failed
	why      End
	err      error

	headDone bool  // the answer's head is there
	keep     bool  // both sides want to keep the connection
	surplus  bool  // bytes came behind the answer
	writeErr error // a write failed; an answer may be there nevertheless
}

// verdict says how an exchange ends whose answer is over.
func (s *state) verdict() End {
	switch {
	case s.surplus:
		return EndSurplus
	case !s.keep:
		return EndNotKept
	case s.writeErr != nil:
		return EndUpload
	}
	return EndKept
}

// settle ends the exchange if nothing is left to do, or to gain: an answer behind
// which the peer closes isn't worth the rest of an upload.
func (x *Exchange) settle() {
	x.mu.Lock()
	why := x.verdict()
	if x.ended || !x.opened || !x.readEnd || !x.writeEnd && why == EndKept {
		x.mu.Unlock()
		return
	}
	x.ended, x.why = true, why
	uploading := !x.writeEnd
	x.mu.Unlock()
	if why != EndKept {
		x.closeConn(why)
	}
	x.conclude(why)
	if uploading {
		x.halt()
	}
}

// fail records why the exchange failed and closes the connection. The first failure
// counts; after the end of the exchange there is none. It reports whether it counted.
func (x *Exchange) fail(why End, err error) bool {
	x.mu.Lock()
	if x.ended {
		x.mu.Unlock()
		return false
	}
	x.ended, x.why, x.err = true, why, err
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
func (x *Exchange) failNow(why End, err error) {
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
func (x *Exchange) closeConn(why End) {
	if why == EndNotKept || why == EndUpgraded {
		x.c.finish()
	} else {
		x.c.kill()
	}
}

// conclude lets go of the connection and tells the owner.
func (x *Exchange) conclude(why End) {
	x.unwatch()
	x.c.end()
	x.owner.ExchangeDone(why == EndKept, why)
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
