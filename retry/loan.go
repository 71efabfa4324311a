package retry

import (
	"errors"
	"io"
)

// A loan is a lent body as one attempt has it.
type loan struct {
	from *lender
	body io.ReadCloser // the lender's, or nothing
	sum  int64         // of the bytes read; only the reading goroutine uses it

	// Under from.mu.
	reading bool          // a Read is under way
	closed  bool          // no Read is begun any more
	quiet   chan struct{} // made if somebody waits for the Read's end, which closes it
}

var errLoanClosed = errors.New("retry: read from a request body after its Close")

// Read reads from the body, unless the loan is over.
func (n *loan) Read(p []byte) (count int, err error) {
	before, ok := n.enter()
	if !ok {
		return 0, errLoanClosed
	}
	returned := false
	defer func() { n.leave(before, returned && count == 0, err) }() // deferred: a body's Read may panic
	if before == unmarked {
		n.from.mark()
	}
	count, err = n.body.Read(p)
	returned = true
	n.sum += int64(count)
	err = n.from.measure.check(n.sum, err)
	return count, err
}

// A condition is that of the body before a Read.
type condition uint8

const (
	touched   condition = iota
	untouched           // and can't be rewound, or was asked for its position
	unmarked            // untouched, and to be asked for its position
)

// enter notes that a Read begins. False: it must not.
func (n *loan) enter() (condition, bool) {
	l := n.from
	l.mu.Lock()
	defer l.mu.Unlock()
	before := touched
	switch {
	case l.touched:
	case l.seek != nil && !l.marked:
		before = unmarked
	default:
		before = untouched
	}
	if n.closed {
		return before, false
	}
	n.reading, l.touched = true, true
	return before, true
}

// leave notes that a Read has ended, with err and without a byte if nothing was read. A body
// that gave nothing is as it was.
func (n *loan) leave(before condition, nothing bool, err error) {
	l := n.from
	l.mu.Lock()
	defer l.mu.Unlock()
	n.reading = false
	if nothing && before != touched {
		l.touched = err != nil
		l.empty = err == io.EOF && l.seek == nil && l.req.ContentLength <= 0
	}
	if n.quiet != nil {
		close(n.quiet)
		n.quiet = nil
	}
}

// end ends the loan without closing the body. If a Read is under way it returns a channel
// that is closed when that ends; else nil.
func (n *loan) end() <-chan struct{} {
	n.from.mu.Lock()
	defer n.from.mu.Unlock()
	n.closed = true
	if n.reading && n.quiet == nil {
		n.quiet = make(chan struct{})
	}
	return n.quiet
}

// Close ends the loan. It closes the body only if no other attempt will have it.
func (n *loan) Close() error {
	l := n.from
	l.mu.Lock()
	if n.closed {
		l.mu.Unlock()
		return nil
	}
	n.closed = true
	due := !l.closed && (l.returned || l.seek == nil && l.touched)
	l.closed = l.closed || due
	l.mu.Unlock()
	if !due {
		return nil
	}
	return l.body.Close()
}
