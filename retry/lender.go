package retry

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// A lender lends a body to one attempt after the other, as each attempt closes what it is
// given. The body itself is closed once: when the last attempt has returned and has closed its
// loan (an upload may go on after the answer has come), or, if it can't be rewound, as soon
// as an attempt that has read from it closes it: there won't be another, and a body's Close may
// fail, set trailers, or be what ends a Read.
//
// All that a call which succeeds at once needs is one allocation.
type lender struct {
	body    io.ReadCloser
	req     http.Request // the first attempt's: a shallow copy of the caller's, with the first loan
	first   loan
	leave   bool // a body that can't be rewound isn't lent again, even if it is untouched
	measure measure

	// mu guards the fields below, and the loans' own. The body isn't called under it. Only
	// RoundTrip's goroutine sets current, so it reads it without.
	mu       sync.Mutex
	current  *loan
	seek     io.Seeker // body, if it can be rewound as far as is known
	marked   bool      // it can, to start
	start    int64
	touched  bool // a Read is under way, or has given a byte or an error
	empty    bool // its end was read, and nothing before; it can be had again: there is nothing
	returned bool // the last attempt has returned
	closed   bool // body's Close was called, or is about to be
}

var errTouched = errors.New("retry: the request's body can't be rewound, and was read from")

func newLender(req *http.Request, seek io.Seeker, leave bool) *lender {
	l := &lender{body: req.Body, req: *req, seek: seek, leave: leave}
	l.first = loan{from: l, body: req.Body}
	l.current = &l.first
	l.req.Body = &l.first
	return l
}

// mark notes where the body stands before the first Read, and reports whether it can be
// rewound. (An *os.File of a pipe is an io.Seeker, and fails to seek.)
func (l *lender) mark() bool {
	at, err := l.body.(io.Seeker).Seek(0, io.SeekCurrent)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.seek = nil
	}
	l.start, l.marked = at, err == nil
	return l.marked
}

// replayable reports whether the body can be lent again. If the attempt has failed its loan
// ends. A body that can't be rewound has to be untouched, and safe from being touched; a Read
// that is under way counts.
func (l *lender) replayable(failed bool) bool {
	l.mu.Lock()
	n := l.current
	n.closed = n.closed || failed
	whole := n.closed && (!l.touched || l.empty)
	seeks, marked := l.seek != nil, l.marked
	l.mu.Unlock()
	if !l.leave || marked {
		return seeks || whole
	}
	return seeks && whole && l.mark() // a pipe, perhaps
}

// next ends the loan before, waits for a Read that is under way, and lends the body from
// its start. (A RoundTripper may go on with a request's body after it has returned.)
func (l *lender) next(req *http.Request) (*loan, error) {
	if reading := l.current.end(); reading != nil {
		if err := wait(req, reading); err != nil {
			return nil, err
		}
	}
	l.measure.check(req.ContentLength, nil) // what comes now has to be as long at least
	l.mu.Lock()
	n := &loan{from: l, body: l.body}
	touched, empty, seek, start := l.touched, l.empty, l.seek, l.start
	l.mu.Unlock()
	switch {
	case empty:
		n.body = http.NoBody // the body itself may be closed
	case !touched:
	case seek == nil:
		return nil, callerBody(errTouched)
	default:
		if err := rewind(seek, start); err != nil {
			return nil, callerBody(err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = n
	return n, nil
}

func rewind(s io.Seeker, start int64) error {
	at, err := s.Seek(start, io.SeekStart)
	if err == nil && at != start {
		err = fmt.Errorf("retry: the request's body was to be rewound to byte %d, and stands at %d", start, at)
	}
	return err
}

// release ends the lending: the current loan is the last one, and with failed it is over.
func (l *lender) release(failed bool) {
	l.mu.Lock()
	n := l.current
	l.returned = true
	n.closed = n.closed || failed
	due := n.closed && !l.closed
	l.closed = l.closed || due
	reading := n.reading
	l.mu.Unlock()
	switch {
	case due && reading:
		go l.body.Close() // it may wait for the Read, which may hang
	case due:
		l.body.Close()
	}
}
