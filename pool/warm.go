package pool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"example.com/connwise/internal/wire"
)

// A warmer is a call of Warm that waits. Guarded by host.mu.
type warmer struct {
	n     int
	ready chan error // buffered; one is sent, and then it isn't in keeper.warmers any more

	opened bool  // a connection was opened since it came
	failed int   // dials that failed in a row
	err    error // of the first of them
	lost   int   // connections that have gone unused since it came
}

// warmFailures is after how many failed dials in a row Warm gives up. If none has succeeded
// before, it does after the first.
const warmFailures = 3

// warmLosses is how many connections may go unused, for each that Warm is to have ready, before it
// gives up: they don't live long enough for so many to be there at a time.
const warmLosses = 2

// Warm has connections ready for requests to url's host: to its scheme and authority, by the
// proxy that Base.Proxy names for such a GET. It returns when n requests at once needn't wait
// for a dial: with HTTP/1 when n connections are open, idle or in use, with HTTP/2 when
// those that are open take n streams (one mostly does). What it opens becomes idle, and is
// subject to all limits of idle connections; to have connections kept ready see
// Config.MinIdlePerHost. It is no hindrance to requests: they take what is opened first.
//
// The dials keep to MaxConnsPerHost and to a window of dials in flight, and go on when Warm has
// returned early. It does so with ctx's error; with the first error of a dial, if the first
// dial fails or several in a row do; if connections are closed sooner than so many can be
// opened; and with ErrClosed once the transport is closed or shuts
// down. If the limits (MaxConnsPerHost, MaxIdlePerHost, Base.MaxIdleConns) don't let so
// many be kept, it opens as many as they do, and returns an error that says so. All errors are
// *Error; one that is the caller's (that, a bad url, a negative n, Base.DisableKeepAlives)
// has a *CallerError in it.
func (t *Transport) Warm(ctx context.Context, url string, n int) error {
	req, err := t.warmRequest(ctx, url, n)
	if err != nil {
		return callerError("", CallerRequest, err)
	}
	for {
		h, err := t.hostFor(req)
		if err != nil {
			return callerError(canonicalAddr(req.URL.Scheme, req.URL.Host), CallerHook, err)
		}
		if err := h.warm(ctx, n); err != errForgotten {
			return err
		}
	}
}

// warmRequest checks Warm's arguments. It repeats no part of the url, which may have a
// password in it.
func (t *Transport) warmRequest(ctx context.Context, rawURL string, n int) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, rawURL, nil)
	if _, bad := errors.AsType[*url.Error](err); bad {
		err = errors.New("the url can't be parsed") // what says why has pieces of it
	}
	if err == nil {
		err = checkRequest(req)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("pool: Warm: %w", err)
	case n < 0:
		return nil, fmt.Errorf("pool: Warm: %d connections", n)
	case t.set.disableKeepAlives:
		return nil, errors.New("pool: Warm: Base.DisableKeepAlives is set")
	case t.set.protocols(req.URL.Scheme).none():
		return nil, errNoProtocol(req.URL.Scheme)
	}
	return req, nil
}

// warm is Warm. The error errForgotten says that the host has to be looked up again.
func (h *host) warm(ctx context.Context, n int) error {
	w := &warmer{n: n, ready: make(chan error, 1)}
	if err := h.addWarmer(w); err != nil {
		return err
	}
	select {
	case err := <-w.ready:
		return err
	case <-ctx.Done():
		h.mu.Lock()
		defer h.unlock()
		h.removeWarmerLocked(w)
		return &Error{Phase: PhaseDial, Host: h.key.addr, Err: wire.Ended(ctx)}
	}
}

func (h *host) addWarmer(w *warmer) error {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.t.closing():
		return &Error{Phase: PhaseWait, Host: h.key.addr, Err: ErrClosed}
	case h.gone:
		return errForgotten
	}
	h.usedAt = now
	h.keeper.warmers = append(h.keeper.warmers, w)
	h.keepByLocked(now)
	return nil
}

func (h *host) removeWarmerLocked(w *warmer) {
	h.keeper.warmers = slices.DeleteFunc(h.keeper.warmers, func(x *warmer) bool { return x == w })
}

// wants is for how many requests it wants connections: as many as the limits let be kept.
func (w *warmer) wants(h *host, t *tally) int {
	_, most := h.mostWarmLocked(t.each)
	return min(w.n, most)
}

// mostWarmLocked is for how many requests the limits let connections be kept, each of which
// carries so many; and which limit it is.
func (h *host) mostWarmLocked(each int) (limit string, most int) {
	most = plenty
	for _, l := range []struct {
		name  string
		conns int
	}{
		{"MaxConnsPerHost", h.cfg.MaxConnsPerHost},
		{"MaxIdlePerHost", h.cfg.MaxIdlePerHost},
		{"Base.MaxIdleConns", h.t.set.maxIdle},
	} {
		if l.conns > 0 && l.conns < (most+each-1)/each {
			limit, most = l.name, l.conns*each
		}
	}
	if h.proto == protocolHTTP2 && h.t.set.oneConn && each < most {
		limit, most = "Base.HTTP2.StrictMaxConcurrentRequests", each
	}
	return limit, most
}

// tellWarmersLocked lets those go on for whom enough is there.
func (h *host) tellWarmersLocked(t *tally) {
	limit, most := h.mostWarmLocked(t.each)
	h.keeper.warmers = slices.DeleteFunc(h.keeper.warmers, func(w *warmer) bool {
		if t.ready < min(w.n, most) {
			return false
		}
		var err error
		if w.n > most {
			err = callerError(h.key.addr, CallerRequest, fmt.Errorf("pool: Warm: for %d requests at once, but %s allows for %d", w.n, limit, most))
		}
		w.ready <- err
		return true
	})
}

// failWarmersLocked notes that a dial has failed.
func (h *host) failWarmersLocked(err error) {
	h.keeper.warmers = slices.DeleteFunc(h.keeper.warmers, func(w *warmer) bool {
		if w.failed++; w.failed == 1 {
			w.err = err
		}
		if w.opened && w.failed < warmFailures {
			return false
		}
		w.ready <- &Error{Phase: PhaseDial, Host: h.key.addr, Err: w.err}
		return true
	})
}

// noteLostLocked notes that c, which was open, has left the pool.
func (h *host) noteLostLocked(c *conn, reason CloseReason) {
	if c.uses > 0 {
		return
	}
	h.keeper.warmers = slices.DeleteFunc(h.keeper.warmers, func(w *warmer) bool {
		if w.lost++; w.lost <= warmLosses*w.n {
			return false
		}
		err := fmt.Errorf("pool: Warm: connections are closed sooner than %d can be opened (%s)", w.n, reason)
		w.ready <- &Error{Phase: PhaseDial, Host: h.key.addr, Err: err}
		return true
	})
}

// endWarmersLocked gives the error to all.
func (h *host) endWarmersLocked(err error) {
	for _, w := range h.keeper.warmers {
		w.ready <- err
	}
	h.keeper.warmers = nil
}
