package retry

import (
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"

	"example.com/connwise/pool"
)

// A tracker follows the connections of an attempt, by httptrace's GotConn.
//
// Over a stock http.Transport, which says little of how far a request got, it finds what can be
// known: net/http tells which connection it takes, before it writes to it, and again when it takes
// another one; those of a pool.Guard and of a dialer.Dialer count the bytes that they accept. If
// none of the connections that an attempt got has accepted a byte since, none of the request
// has left.
//
// A body that fails is no exception: net/http sends the header before it reads from one that
// isn't in memory.
//
// Only *http.Transport itself is trusted with that, and not for schemes that it must have from
// somebody else (RegisterProtocol): another RoundTripper may send on a connection that it doesn't
// tell of. Of such a one, and of a *pool.Transport, which says itself how far a request got, it's
// only kept which connection came last.
type tracker struct {
	of    *Transport
	stock bool // Base is an *http.Transport
	trace httptrace.ClientTrace

	mu      sync.Mutex
	conns   []counted
	few     [2]counted // where conns begins
	unknown bool       // a connection has no count, or there were too many
	last    httptrace.GotConnInfo
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

// track returns the request to be sent in place of req, and what follows it; nil if nothing needs to.
// A report wants to know the connections of a call that is retried.
func (t *Transport) track(req *http.Request, reported bool) (*http.Request, *tracker) {
	base, stock := t.base().(*http.Transport)
	stock = stock && req.URL != nil && (req.URL.Scheme == "http" || req.URL.Scheme == "https")
	if !reported && (!stock || t.uncounted.Load() >= patience && !resendsUnasked(base, req)) {
		return req, nil
	}
	n := &tracker{of: t, stock: stock}
	n.conns = n.few[:0]
	n.trace.GotConn = n.gotConn
	return req.WithContext(httptrace.WithClientTrace(req.Context(), &n.trace)), n
}

// resendsUnasked reports whether net/http may send the request again by itself although its method
// doesn't allow that: over HTTP/2 it does so with any, when the peer has reset the stream with
// PROTOCOL_ERROR. If the dial for it fails, that there was a connection before is all that tells
// it from a first one, whether connections are counted or not. (Of others replays says enough.)
func resendsUnasked(base *http.Transport, req *http.Request) bool {
	h2 := req.URL.Scheme == "https" || base.Protocols != nil && base.Protocols.UnencryptedHTTP2()
	return h2 && !replays(req)
}

// gotConn may be called again, and for the same connection: the first count is what counts.
func (n *tracker) gotConn(info httptrace.GotConnInfo) {
	at, ok := pool.Accepted(info.Conn)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = info
	if !n.stock {
		return
	}
	if !ok || len(n.conns) == maxConns {
		n.unknown = true
	} else {
		n.conns = append(n.conns, counted{info.Conn, at})
	}
	n.of.noteCounted(ok)
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
	trailUnknown   trail = iota // nobody looked
	trailNone                   // there was none
	trailUntouched              // none has accepted a byte
	trailUsed                   // one may have
)

func (n *tracker) trail() trail {
	if n == nil || !n.stock {
		return trailUnknown
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.unknown {
		return trailUsed
	}
	for _, c := range n.conns {
		if now, ok := pool.Accepted(c.conn); !ok || now != c.at {
			return trailUsed
		}
	}
	if len(n.conns) == 0 {
		return trailNone
	}
	return trailUntouched
}

// conn returns the address of the attempt's last connection, and whether it had been there before.
func (n *tracker) conn() (addr string, reused bool) {
	if n == nil {
		return "", false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last.Conn == nil || n.last.Conn.RemoteAddr() == nil {
		return "", n.last.Reused
	}
	return n.last.Conn.RemoteAddr().String(), n.last.Reused
}

// weigh completes the outcome of a failed attempt with what its connections show.
func (o *Outcome) weigh(t trail) {
	switch {
	case t == trailUntouched && o.Phase == pool.PhaseUnknown:
		o.Phase = pool.PhaseUnsent
	case t == trailUsed && (o.Phase == pool.PhaseDial || o.Phase == pool.PhaseWait):
		// net/http has sent an idempotent request, has lost it, and found no connection for
		// sending it again: the error tells of the end only.
		o.Earlier = true
	}
}
