package dialer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// A Hook makes a connection in place of the Dialer, as http.Transport's DialContext does.
type Hook = func(ctx context.Context, network, addr string) (net.Conn, error)

// errNilConn is what is said of a hook that returns neither a connection nor an error.
var errNilConn = errors.New("the dial hook returned neither a connection nor an error")

// hookLinger is how long a dial whose time is over waits for what it opened to be gone.
const hookLinger = 50 * time.Millisecond

// await calls f in a goroutine of its own and returns its result, or an error when ctx
// ends before: a caller's function can't hold up the dial. A result that comes too late is
// given to discard, if that isn't nil; and an f that heeds ctx has mostly returned then when
// await does: who counts connections makes room for the next one. A panic in f, which nobody
// else could recover from, is an error, and so is it if f ends its goroutine.
func await[T any](ctx context.Context, f func() (T, error), discard func(T)) (T, error) {
	type result struct {
		v   T
		err error
	}
	got := make(chan result)
	gone, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		var r result
		returned := false
		defer func() {
			if !returned {
				r.err = unwound(recover())
			}
			select {
			case got <- r:
			case <-gone:
				if r.err == nil && discard != nil {
					discard(r.v)
				}
			}
		}()
		r.v, r.err = f()
		returned = true
	}()
	select {
	case r := <-got:
		return r.v, r.err
	case <-ctx.Done():
		close(gone)
		if discard != nil {
			select {
			case <-over:
			case <-time.After(hookLinger):
			}
		}
		var zero T
		return zero, ctx.Err()
	}
}

// unwound is the error of a function that didn't return, with what recover gave.
func unwound(v any) error {
	switch v := v.(type) {
	case nil:
		return &HookError{errors.New("the hook ended its goroutine")}
	case error:
		return &HookError{fmt.Errorf("panic: %w", v)}
	default:
		return &HookError{fmt.Errorf("panic: %v", v)}
	}
}

// byHook connects by a hook. stage is what its failures are when they don't tell.
func (d *Dialer) byHook(ctx context.Context, hook Hook, addr string) (net.Conn, error) {
	if err := ended(ctx); err != nil {
		return nil, &Error{Stage: StageConnect, Addr: addr, Err: err}
	}
	inner, cancel := within(ctx, StageConnect, limit(d.ConnectTimeout, defaultHookTimeout))
	defer cancel()
	c, err := await(inner, func() (net.Conn, error) { return hook(inner, "tcp", addr) }, closeConn)
	if err == nil && c == nil {
		err = errNilConn
	}
	if err == nil {
		return c, nil
	}
	e := &Error{Stage: stageOf(err), Addr: addr, Err: because(ctx, inner, err)}
	if own, ok := errors.AsType[*Error](err); ok {
		e.Stage, e.Tries = own.Stage, own.Tries
		if e.Err == err {
			e.Err = own.Err
		}
	}
	return nil, e
}

func closeConn(c net.Conn) {
	if c != nil {
		c.Close()
	}
}

// stageOf reads the stage from the type of a hook's error. What says nothing is a failed
// connect.
func stageOf(err error) Stage {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return StageResolve
	}
	if isTLSError(err) {
		return StageTLS
	}
	return StageConnect
}

func isTLSError(err error) bool {
	_, cert := errors.AsType[*tls.CertificateVerificationError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	op, _ := errors.AsType[*net.OpError](err)
	return cert || header || op != nil && op.Op == "remote error" // what crypto/tls makes of an alert
}
