package retry

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"

	"example.com/connwise/pool"
)

// A kept body is a reader of memory behind an io.NopCloser. A *pool.Transport takes a small one
// before it writes, to send it with the head at once; behind a loan it couldn't, which would
// cost a goroutine and a write more. There is no need for a loan: to close it does nothing,
// to read it has no effect on anybody, and nobody reads from it when Attempt has returned an
// error.
type kept struct {
	from memory
	left int    // what it had before the first attempt, in bytes
	data []byte // a *bytes.Buffer's, which can't be rewound
}

// A memory is a *bytes.Reader, *strings.Reader or *bytes.Buffer.
type memory interface {
	io.Reader
	Len() int
}

var nopClosers = [...]reflect.Type{
	reflect.TypeOf(io.NopCloser(nil)), // hides a Reader
	reflect.TypeOf(io.NopCloser(struct {
		io.WriterTo
		io.Reader
	}{})), // hides a Reader that is a WriterTo
}

// keep returns the zero kept for any other body, and for any other Base.
func keep(rc io.ReadCloser, pooled bool) kept {
	if !pooled {
		return kept{}
	}
	if t := reflect.TypeOf(rc); t != nopClosers[0] && t != nopClosers[1] {
		return kept{}
	}
	switch r := reflect.ValueOf(rc).Field(0).Interface().(type) {
	case *bytes.Buffer:
		return kept{from: r, left: r.Len(), data: r.Bytes()}
	case *bytes.Reader:
		return kept{from: r, left: r.Len()}
	case *strings.Reader:
		return kept{from: r, left: r.Len()}
	}
	return kept{}
}

// replayable reports whether the body is as it was, or nothing of it can have left this machine,
// so that it doesn't matter that it was taken. Otherwise it counts as touched, like any body
// that can't be rewound: what NopCloser hides is hidden on purpose.
func (k *kept) replayable(err error) bool {
	if k.from == nil || err == nil {
		return false
	}
	e, ok := errors.AsType[*pool.Error](err)
	return k.from.Len() == k.left || ok && e.Sent == 0 && e.Phase.Unprocessed()
}

// rewound returns the body as it was; rc is what it is behind.
func (k *kept) rewound(rc io.ReadCloser) io.ReadCloser {
	switch r := k.from.(type) {
	case *bytes.Reader:
		r.Seek(r.Size()-int64(k.left), io.SeekStart)
	case *strings.Reader:
		r.Seek(r.Size()-int64(k.left), io.SeekStart)
	case *bytes.Buffer:
		return io.NopCloser(bytes.NewReader(k.data))
	}
	return rc
}
