package retry

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// errShorter ends a body that has become shorter between two attempts: a file that was
// truncated, a GetBody that returns the reader that the attempt before has emptied. Without it
// the rest would go out as if it were all, if there is no Content-Length, or the Base doesn't
// check it (net/http's over HTTP/2).
var errShorter = errors.New("retry: the request's body is shorter than it was, or was said to be")

// A measure is how long a body is at least, by what its attempts have read, in bytes.
type measure struct{ most atomic.Int64 }

// check notes that an attempt has read sum bytes in all. It returns err, the last Read's, unless
// that is the body's end, and comes too early.
func (m *measure) check(sum int64, err error) error {
	for {
		most := m.most.Load()
		switch {
		case err == io.EOF && sum < most:
			return errShorter
		case sum <= most || m.most.CompareAndSwap(most, sum):
			return err
		}
	}
}

// copies are those that GetBody returns, if the request has no Content-Length. They and the first
// attempt's request, a shallow copy of the caller's, are one allocation.
type copies struct {
	req     http.Request
	first   measured
	measure measure
}

func newCopies(req *http.Request) *copies {
	c := &copies{req: *req}
	c.first = measured{ReadCloser: req.Body, by: &c.measure}
	c.req.Body = &c.first
	return c
}

// ofLength checks that rc has length bytes at least.
func ofLength(rc io.ReadCloser, length int64) io.ReadCloser {
	m := &measured{ReadCloser: rc, by: new(measure)}
	m.by.check(length, nil)
	return m
}

// A measured body is what one attempt has.
type measured struct {
	io.ReadCloser
	by  *measure
	sum int64
}

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.sum += int64(n)
	return n, m.by.check(m.sum, err)
}
