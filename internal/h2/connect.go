package h2

import (
	"context"
	"errors"

	"example.com/connwise/internal/wire"
)

var errExtendedConnect = errors.New("extended connect not supported by peer")

// awaitExtended waits until the peer has said whether it takes an extended CONNECT.
func (x *Exchange) awaitExtended(ctx context.Context) error {
	if len(x.req.Header[":protocol"]) == 0 {
		return nil
	}
	select {
	case <-x.c.settled:
	case <-ctx.Done():
		return wire.Ended(ctx)
	case <-x.req.Cancel:
		return wire.ErrCanceled
	}
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	switch {
	case x.c.closing != nil:
		return x.c.closing
	case !x.c.peer.extendConnect:
		return &wire.RequestError{Err: errExtendedConnect}
	}
	return nil
}
