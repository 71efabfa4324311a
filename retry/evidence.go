package retry

import (
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"

	"example.com/connwise/pool"
)

// An evidence is what can be known of an attempt over a stock http.Transport, which says little
// of how far a request got. net/http tells by httptrace's GotConn which connection it takes,
// before it writes to it, and again when it takes another one; those of a pool.Guard and of a
// dialer.Dialer count the bytes that they accept. If none of the connections that an attempt
// got has accepted a byte since, none of the request has left.
//
// A body that fails is no exception: net/http sends the header before it reads from one that
// isn't in memory.
//
// Only *http.Transport itself is trusted with that: another RoundTripper may send on
// a connection that it doesn't tell of.
type evidence struct {
	of    *Transport
	trace httptrace.ClientTrace

	mu      sync.Mutex
	conns   []counted
	few     [2]counted // where conns begins
	unknown bool       // a connection has no count, or there were too many
}

// A counted is a connection, and what it had accepted when the attempt got it.
type counted struct {
	conn net.Conn
	at   int64
}

const (
	// maxConns bounds what is remembered of one attempt. net/http takes another
	// connection a few times at most.
	maxConns = 16
	// patience is how many connections in a row, from the first on, may have no
	// count until they aren't looked for any more.
	patience = 16
)

// gather returns the request to be sent in place of req, and where evidence of it is
// collected; nil if there is none to be had.
func (t *Transport) gather(req *http.Request) (*http.Request, *evidence) {
	if t.policy.maxRetries() == 0 || t.uncounted.Load() >= patience {
		return req, nil
	}
	if _, stock := t.base().(*http.Transport); !stock {
		return req, nil
	}
	e := &evidence{of: t}
	e.conns = e.few[:0]
	e.trace.GotConn = e.gotConn
	return req.WithContext(httptrace.WithClientTrace(req.Context(), &e.trace)), e
}

// gotConn may be called again, and for the same connection: the first count is what counts.
func (e *evidence) gotConn(info httptrace.GotConnInfo) {
	n, ok := pool.Accepted(info.Conn)
	e.mu.Lock()
	defer e.mu.Unlock()
	if !ok || len(e.conns) == maxConns {
		e.unknown = true
	} else {
		e.conns = append(e.conns, counted{info.Conn, n})
	}
	e.of.noteCounted(ok)
}

// noteCounted notes whether a connection has a count. Where none ever has, it's no use to
// ask each.
func (t *Transport) noteCounted(ok bool) {
	switch n := t.uncounted.Load(); {
	case n < 0:
	case ok:
		t.uncounted.Store(-patience)
	default:
		t.uncounted.CompareAndSwap(n, n+1)
	}
}

// A trail is what the connections of an attempt show.
type trail uint8

const (
	trailNone      trail = iota // there was none
	trailUntouched              // none has accepted a byte
	trailUsed                   // one may have
)

func (e *evidence) trail() trail {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.unknown {
		return trailUsed
	}
	for _, c := range e.conns {
		if n, ok := pool.Accepted(c.conn); !ok || n != c.at {
			return trailUsed
		}
	}
	if len(e.conns) == 0 {
		return trailNone
	}
	return trailUntouched
}

// weigh completes the outcome of a failed attempt.
func (e *evidence) weigh(o *Outcome) {
	if e == nil || o.Status != 0 {
		return
	}
	switch trail := e.trail(); {
	case trail == trailUntouched && o.Phase == pool.PhaseUnknown:
		o.Phase = pool.PhaseUnsent
	case trail == trailUsed && o.Phase == pool.PhaseDial:
		// net/http has sent an idempotent request, has lost it, and failed to dial for
		// sending it again: the dial's error tells of the end only.
		o.Phase, o.Stage = pool.PhaseUnknown, 0
	}
}
