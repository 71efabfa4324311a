package pool

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"example.com/connwise/dialer"
)

// A protocol is what a host was found to speak.
type protocol uint8

const (
	protocolUnknown protocol = iota
	protocolHTTP1
	protocolHTTP2
)

func (p protocol) String() string { return [...]string{"", "HTTP/1.1", "HTTP/2.0"}[p] }

const (
	// assumedStreams is how many requests an HTTP/2 connection is expected to carry before
	// its peer, or an earlier one of the host, has said so: what RFC 9113 section 6.5.2
	// recommends as the least.
	assumedStreams = 100
	// barredGrace is how long a connection whose peer takes no stream for now is waited for
	// before another one is dialled.
	barredGrace = time.Second
	// doubtGrace is how long requests wait for the PING that is to show whether a
	// connection is alive before another one is dialled.
	doubtGrace = 50 * time.Millisecond
)

// speaksHTTP2 tells whether HTTP/2 is what is spoken on l: agreed on by ALPN, or known
// without asking (RFC 9113 section 3.3).
func (h *host) speaksHTTP2(l *dialer.Link) bool {
	if l.TLS != nil {
		return l.Proto == alpnHTTP2
	}
	return h.speaks.http2 && !h.speaks.http1
}

var errProtocol = errors.New("pool: the peer speaks a protocol that Base.Protocols doesn't have")

// checkProtocol refuses a connection on which the peer expects what isn't to be spoken. If a
// dial hook of the caller's made it, that's the caller's affair.
func (h *host) checkProtocol(l *dialer.Link) error {
	if two := h.speaksHTTP2(l); two && h.speaks.http2 || !two && h.speaks.http1 {
		return nil
	}
	l.Conn.Close()
	err := &dialer.Error{Stage: dialer.StageTLS, Addr: h.key.addr, Err: fmt.Errorf("%w (%s)", errProtocol, cmp.Or(l.Proto, alpnHTTP1))}
	if h.route.ConnectTLS != nil && h.route.Proxy == nil {
		return &CallerError{CallerHook, err}
	}
	return err
}

// noteProtocolLocked remembers what the host speaks, for the number of dials that a burst
// gets.
func (h *host) noteProtocolLocked(c *conn) {
	switch {
	case c.h2 != nil:
		h.proto = protocolHTTP2
		h.expelLocked()
	case !c.only1: // else it says nothing
		h.proto = protocolHTTP1
	}
}

// expelLocked sends those who need HTTP/1 to the host that is for them.
func (h *host) expelLocked() {
	for w := h.queue.head; w != nil; {
		next := w.next
		if w.http1 {
			h.queue.remove(w)
			w.ready <- delivery{err: errForgotten}
		}
		w = next
	}
}

// expectedLocked is how many waiters what is under way will serve: dials, and connections
// whose peers have yet to say how many streams they take. While it isn't known what the
// host speaks, one dial is to find out.
func (h *host) expectedLocked() int {
	switch {
	case h.proto == protocolHTTP1 || !h.speaks.http2:
		return h.reliedOnLocked()
	case h.t.set.disableKeepAlives && h.proto == protocolUnknown:
		return h.reliedOnLocked()
	case h.proto == protocolHTTP2 && h.t.set.oneConn && h.hopefulLocked():
		return math.MaxInt
	}
	each, now, n, slow := h.eachLocked(), time.Now(), 0, 0
	for c := range h.conns {
		switch {
		case c.state == connDialing && c.cut:
		case c.state == connDialing && c.only1:
			n++
		case c.state == connDialing && c.slow && slow == 0:
			slow++ // one gets company
		case c.state == connDialing:
			if n += each; h.proto == protocolUnknown {
				return math.MaxInt
			}
		case c.h2 == nil || c.leaving != "" || c.state == connWitness:
		case c.suspect:
			if age(now, c.doubted) < doubtGrace {
				n += each - c.streams
			}
		case !c.told:
			n += each - c.streams
		case c.limit == 0 && age(now, c.barredAt) < barredGrace:
			n += each
		}
	}
	return n
}

// eachLocked is how many requests a new HTTP/2 connection is expected to carry.
func (h *host) eachLocked() int {
	if h.t.set.disableKeepAlives {
		return 1
	}
	each := cmp.Or(h.streamsEach, assumedStreams)
	if most := h.cfg.MaxRequestsPerConn; most > 0 {
		each = min(each, most)
	}
	return each
}

// coveredLocked is how many waiters, from the oldest on, what is being opened is sure to
// serve, as far as that is known: dials, and HTTP/2 connections whose handshake isn't over
// before the peer's first SETTINGS (RFC 9113 section 3.4).
func (h *host) coveredLocked() int {
	if h.proto != protocolHTTP2 && h.speaks.http1 {
		return h.wantedDialsLocked()
	}
	each, n := h.eachLocked(), 0
	for c := range h.conns {
		switch {
		case c.state == connDialing && c.cut:
		case c.state == connDialing:
			n += each
		case c.h2 != nil && !c.told && c.leaving == "" && !c.suspect:
			n += each - c.streams
		}
	}
	return n
}

// spareFrom is how many requests at a time are taken for traffic that goes on.
const spareFrom = 2

// dialSpareLocked is called when a connection with so many requests on it has become useless
// for new ones: the next one is about to come, and needn't wait for its dial.
func (h *host) dialSpareLocked(streams int) {
	if h.queue.len() > 0 {
		h.dialMissingLocked()
		return
	}
	if streams < spareFrom || h.hopefulLocked() || !h.canDialLocked() || h.t.closing() || h.t.set.disableKeepAlives || h.pausesLocked(time.Now()) {
		return
	}
	h.dialLocked()
	h.reapLocked(orphanGrace) // the next one may not come
}

// handshakeError is the error of a connection that ended before the peer's first SETTINGS,
// which belong to the handshake (RFC 9113 section 3.4).
func handshakeError(h *host, err error) error {
	stage := dialer.StageConnect
	if h.route.TLS != nil {
		stage = dialer.StageTLS
	}
	return &dialer.Error{Stage: stage, Addr: h.key.addr, Err: fmt.Errorf("pool: the connection ended before the peer's SETTINGS: %w", err)}
}
