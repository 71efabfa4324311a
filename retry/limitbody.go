package retry

import (
	"context"
	"io"
)

// limitBody returns a body that ends the attempt's context when it is closed or has failed; and at
// its end, if nothing is sent any more then. An upload may go on behind the answer's end
// (HTTP/2), and so does what is written to a body after 101 Switching Protocols.
func limitBody(rc io.ReadCloser, cancel context.CancelCauseFunc, atEnd bool) io.ReadCloser {
	w, ok := rc.(io.Writer)
	b := &limitedBody{rc, cancel, atEnd && !ok}
	if !ok {
		return b
	}
	if half, ok := rc.(closeWriter); ok {
		return struct {
			*limitedBody
			io.Writer
			closeWriter
		}{b, w, half}
	}
	return struct {
		*limitedBody
		io.Writer
	}{b, w}
}

// A closeWriter can be closed for writing, and still be read.
type closeWriter interface{ CloseWrite() error }

type limitedBody struct {
	rc     io.ReadCloser
	cancel context.CancelCauseFunc
	atEnd  bool // io.EOF ends the context
}

// Read reads from the answer's body.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.rc.Read(p)
	if err != nil && (b.atEnd || err != io.EOF) {
		b.cancel(nil)
	}
	return n, err
}

// Close closes the answer's body.
func (b *limitedBody) Close() error {
	defer b.cancel(nil)
	return b.rc.Close()
}
