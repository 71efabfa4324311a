package retry

import (
	"errors"
	"io"
	"net/http"
	"sync"

	"example.com/connwise/pool"
)

// A lender lends a seekable body to one attempt after the other, as each attempt closes
// what it is given. The body itself is closed once: when the last attempt has returned
// and has closed its loan. (An upload may go on after the answer has come.)
type lender struct {
	body  io.ReadCloser
	seek  io.Seeker // body
	start int64     // where the body stood

	// mu guards the fields below, and the loans' own. Only RoundTrip's goroutine sets
	// current, so it reads it without.
	mu       sync.Mutex
	current  *loan
	returned bool // the last attempt has returned
	closed   bool // body was closed
}

// newLender returns nil if rc can't be rewound. (An *os.File of a pipe is an io.Seeker,
// and fails to seek.)
func newLender(rc io.ReadCloser) *lender {
	s, ok := rc.(io.Seeker)
	if !ok {
		return nil
	}
	start, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil
	}
	return &lender{body: rc, seek: s, start: start}
}

// loan lends the body where it stands.
func (l *lender) loan() *loan {
	n := &loan{from: l, quiet: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = n
	return n
}

// rewind ends the loan before, waits for a Read that is under way, and lends the body
// from its start. (A RoundTripper may go on with a request's body after it has returned.)
func (l *lender) rewind(req *http.Request) (*loan, error) {
	l.current.Close()
	if err := wait(req, l.current.quiet); err != nil {
		return nil, err
	}
	if _, err := l.seek.Seek(l.start, io.SeekStart); err != nil {
		return nil, &pool.CallerError{Source: pool.CallerBody, Err: err}
	}
	return l.loan(), nil
}

// release ends the lending: the current loan is the last one, and with failed it is over.
func (l *lender) release(failed bool) {
	l.mu.Lock()
	l.returned = true
	l.mu.Unlock()
	if failed {
		l.current.Close()
	}
	l.settle()
}

// settle closes the body if the last loan is over and nobody has done it yet.
func (l *lender) settle() error {
	l.mu.Lock()
	due := l.returned && l.current.closed && !l.closed
	l.closed = l.closed || due
	reading := l.current.reading
	l.mu.Unlock()
	switch {
	case !due:
		return nil
	case reading:
		go l.body.Close() // it may wait for the Read, which may hang
		return nil
	}
	return l.body.Close()
}

// A loan is the body as one attempt has it.
type loan struct {
	from    *lender
	reading bool          // under from.mu: a Read is under way
	closed  bool          // under from.mu
	quiet   chan struct{} // closed when the loan is closed and no Read is under way
}

var errLoanClosed = errors.New("retry: read from a request body after its Close")

// Read reads from the body, unless the loan was closed.
func (n *loan) Read(p []byte) (int, error) {
	n.from.mu.Lock()
	if n.closed {
		n.from.mu.Unlock()
		return 0, errLoanClosed
	}
	n.reading = true
	n.from.mu.Unlock()
	defer n.readDone() // deferred: a body's Read may panic
	return n.from.body.Read(p)
}

func (n *loan) readDone() {
	n.from.mu.Lock()
	defer n.from.mu.Unlock()
	n.reading = false
	if n.closed {
		close(n.quiet)
	}
}

// Close ends the loan. It closes the body only if no further attempt will be made.
func (n *loan) Close() error {
	n.from.mu.Lock()
	if n.closed {
		n.from.mu.Unlock()
		return nil
	}
	n.closed = true
	if !n.reading {
		close(n.quiet)
	}
	n.from.mu.Unlock()
	return n.from.settle()
}
