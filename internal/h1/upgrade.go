package h1

import (
	"fmt"
	"io"
	"net/http"

	"example.com/connwise/internal/wire"
)

// A tunnel is the body of an answer that switched protocols: the connection itself,
// beginning with what came behind the answer's head. Read and Write may be called
// concurrently. The end of the request's context closes it.
type tunnel struct{ x *Exchange }

var _ io.ReadWriteCloser = tunnel{}

func (x *Exchange) upgrade(resp *http.Response) {
	if x.br.Buffered() == 0 {
		x.dropReader()
	}
	x.mu.Lock()
	x.keep = false
	x.mu.Unlock()
	resp.Body = tunnel{x}
}

// Read reads from the connection.
func (t tunnel) Read(p []byte) (int, error) {
	if n := t.readEarly(p); n > 0 {
		return n, nil
	}
	n, err := t.x.c.nc.Read(p)
	return n, t.cause(err)
}

// readEarly reads what had been buffered with the answer's head.
func (t tunnel) readEarly(p []byte) int {
	x := t.x
	x.rmu.Lock()
	defer x.rmu.Unlock()
	if x.br == nil {
		return 0
	}
	n, _ := x.br.Read(p[:min(len(p), x.br.Buffered())])
	if x.br.Buffered() == 0 {
		x.dropReader()
	}
	return n
}

// Write writes to the connection, after what is left of the request's body.
func (t tunnel) Write(p []byte) (int, error) {
	if u := t.x.up; u != nil {
		select {
		case <-u.sentc:
		case <-u.stopc: // closed, or cancelled
		}
	}
	n, err := t.x.c.nc.Write(p)
	return n, t.cause(err)
}

// CloseWrite closes the sending side of a connection that can do that, and otherwise
// returns http.ErrNotSupported, wrapped.
func (t tunnel) CloseWrite() error {
	if cw, ok := t.x.c.top.(interface{ CloseWrite() error }); ok {
		return t.cause(cw.CloseWrite())
	}
	return fmt.Errorf("h1: CloseWrite: %w", http.ErrNotSupported)
}

// Close closes the connection and ends the exchange. It returns nil.
func (t tunnel) Close() error {
	t.x.fail(wire.EndUpgraded, http.ErrBodyReadAfterClose)
	t.x.reclaim()
	return nil
}

// cause returns why the exchange ended in place of what that did to the connection.
func (t tunnel) cause(err error) error {
	if err == nil {
		return nil
	}
	if why := t.x.failure(); why != nil {
		return why
	}
	return err
}
