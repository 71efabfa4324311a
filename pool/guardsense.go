package pool

import (
	"bytes"
	"time"
)

// A wireKind is what a connection's bytes were found to be.
type wireKind uint8

const (
	kindUnknown wireKind = iota // nothing that says what it is, or a proxy's handshake
	kindHTTP1                   // plain HTTP/1
	kindHTTP2                   // HTTP/2, by its preface or by ALPN
	kindTLS                     // TLS, with HTTP/1 or something unknown in it
	kindForeign                 // another protocol after 101 Switching Protocols
)

// A sense follows the bytes of a connection from the client's end, as far as is needed to
// tell a rest between requests from a pause in one. It takes no clock and keeps no bytes but
// the beginning of a status line. Its owner guards it.
type sense struct {
	kind  wireKind
	hello clientHello // of kindTLS
	// started says that a request was begun, in TLS that application data was sent; and
	// again says that there was an answer to it and another one since.
	started, again bool
	// touched says that bytes passed that say nothing (a SOCKS proxy's handshake); shaken
	// that a TLS handshake got as far as the client's last word.
	touched, shaken bool
	// answered says that the answer to the last request has begun.
	answered bool
	head     headScanner // of the answer, kindHTTP1
	records  records     // kindTLS: of what is read
	got      int         // of kindHTTP2 and kindTLS: bytes of data read since the last write that may have been a request
	last     time.Time   // when a byte passed last, either way; before that, when it was opened
}

const (
	// In TLS, what was asked can't be told from what was answered but by the size. A bare
	// "HTTP/1.1 100 Continue" takes 42 to 65 bytes in a record, depending on the cipher; answers with
	// so little are few.
	leastAnswer = 68
	// Session tickets come after the handshake unasked, at the time of the first answer.
	// To clients that offer to use them two may come, of up to 260 bytes each.
	leastTicketed = 640
	// No request of HTTP/1.1 is shorter than this, encrypted, as each has a Host. Less is
	// the beat of an upgraded connection, a piece of a body, or a frame of HTTP/2.
	leastRequest = 48
)

// resting tells whether no request is under way, as far as can be told: an answer to the
// last one has begun (nobody sees where it ends, but while it goes on bytes pass), or there
// was none yet.
func (s *sense) resting() bool {
	switch s.kind {
	case kindForeign:
		return false
	case kindHTTP2:
		return s.got > 0
	case kindTLS:
		return s.answered || !s.started && s.shaken
	}
	return s.answered || !s.started && !s.touched
}

// ages tells whether the time since the last byte says anything: with HTTP/2 a stream may
// be open that nobody has anything to say on.
func (s *sense) ages() bool {
	return s.kind == kindHTTP1 || s.kind == kindTLS || s.kind == kindUnknown
}

// begins tells whether p may be the beginning of a request.
func (s *sense) begins(p []byte) bool {
	switch s.kind {
	case kindForeign:
		return false
	case kindHTTP2:
		return true
	case kindTLS:
		return isRecord(p) && p[0] == recordData && !isAlert(p) && (len(p) >= leastRequest || s.hello.http2)
	}
	return beginsRequest(p)
}

// wrote is told of p before it is written: the answer may come before Write returns.
func (s *sense) wrote(p []byte, now time.Time) {
	s.last = now
	switch {
	case s.kind == kindForeign, len(p) == 0:
	case s.kind == kindHTTP2:
		s.got = 0
	case s.kind == kindTLS:
		s.wroteRecord(p)
	case isRecord(p) && p[0] == recordHandshake: // be it in a proxy's tunnel
		*s = sense{kind: kindTLS, hello: parseClientHello(p), last: now}
	case !s.started && bytes.HasPrefix(p, http2Preface):
		s.kind = kindHTTP2
	case beginsRequest(p):
		s.kind = kindHTTP1
		s.begun()
	case s.kind == kindUnknown:
		s.touched = true
	}
}

var http2Preface = []byte("PRI * HTTP/2.0\r\n")

func (s *sense) begun() {
	s.again = s.again || s.started && s.answered
	s.started, s.answered, s.head, s.got = true, false, headScanner{}, 0
}

// wroteRecord is wrote for TLS. Frames of HTTP/2 that ask for nothing are small, and come
// behind the answer that they are about.
func (s *sense) wroteRecord(p []byte) {
	switch {
	case !isRecord(p), isAlert(p):
	case p[0] != recordData:
		s.shaken = !isAlert(lastRecord(p)) // else the handshake has failed
		s.records.restart()
	case len(p) < leastRequest && s.answered:
	default:
		s.begun()
	}
}

// read is told of what was read.
func (s *sense) read(p []byte, now time.Time) {
	s.last = now
	switch s.kind {
	case kindHTTP2:
		s.got += len(p)
	case kindTLS:
		s.got = max(0, s.got+s.records.scan(p))
		s.answered = s.started && s.got >= s.leastAnswer()
	case kindHTTP1:
		if s.answered {
			return
		}
		var switched bool
		if s.answered, switched = s.head.scan(p); switched {
			s.kind = kindForeign
		}
	case kindUnknown:
		s.touched = true
	}
}

func (s *sense) leastAnswer() int {
	if s.hello.tickets && !s.again {
		return leastTicketed
	}
	return leastAnswer
}

// secured is told that a handshake is done, and what it agreed on.
func (s *sense) secured(http2 bool, now time.Time) {
	s.hello.http2, s.shaken, s.last = false, true, now
	if http2 {
		s.kind, s.got = kindHTTP2, 0
	}
}

// protocol is what is spoken, where that can be seen.
func (s *sense) protocol() protocol {
	switch s.kind {
	case kindHTTP1:
		return protocolHTTP1
	case kindHTTP2:
		return protocolHTTP2
	}
	return 0
}
