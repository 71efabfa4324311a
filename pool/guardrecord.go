package pool

import "bytes"

// Record types and sizes of RFC 8446 section 5.1 and 5.2.
const (
	recordAlert     = 21
	recordHandshake = 22
	recordData      = 23
	recordHeaderLen = 5
	recordMost      = 1<<14 + 2048 // of TLS 1.2, which allows more
	recordAlert13   = 2 + 1 + 16   // an alert in TLS 1.3, its inner type, and the tag of every cipher suite
)

// isRecord tells whether p begins with the header of a TLS record.
func isRecord(p []byte) bool {
	return len(p) >= recordHeaderLen && p[0] >= 20 && p[0] <= recordData && p[1] == 3 && p[2] <= 4 && recordLen(p) <= recordMost
}

func recordLen(p []byte) int { return int(p[3])<<8 | int(p[4]) }

// isAlert tells whether p begins with a record that is an alert. In TLS 1.3 it looks like
// data, but no other has its size: there are no two bytes that HTTP has to say by themselves.
func isAlert(p []byte) bool {
	return isRecord(p) && (p[0] == recordAlert || p[0] == recordData && recordLen(p) == recordAlert13)
}

// lastRecord returns the last of the records that p has. What is no record ends the search.
func lastRecord(p []byte) []byte {
	for isRecord(p) {
		n := recordHeaderLen + recordLen(p)
		if n >= len(p) {
			break
		}
		p = p[n:]
	}
	return p
}

// A clientHello is what there is to know of a ClientHello.
type clientHello struct {
	http2   bool // h2 is offered by ALPN
	tickets bool // sessions may be resumed: the server sends tickets, as most do
}

const (
	extALPN     = 16 // RFC 7301
	extPSKModes = 45 // RFC 8446 section 4.2.9
)

// parseClientHello reads the record that a connection begins with. What it can't read
// counts as offered: it is cut in pieces, as no common client does, or no ClientHello.
func parseClientHello(p []byte) clientHello {
	unknown := clientHello{http2: true, tickets: true}
	r := reader(p)
	r.skip(3)
	r = r.vector(2) // the record
	if r.uint(1) != 1 {
		return unknown
	}
	r = r.vector(3) // the handshake message
	r.skip(2 + 32)  // version and random
	r.vector(1)     // session id
	r.vector(2)     // cipher suites
	r.vector(1)     // compression methods
	if r == nil {
		return unknown
	}
	if len(r) == 0 { // extensions are optional in TLS 1.2
		return clientHello{}
	}
	var h clientHello
	for exts := r.vector(2); len(exts) > 0; {
		id := exts.uint(2)
		ext := exts.vector(2)
		if exts == nil {
			return unknown
		}
		switch id {
		case extALPN:
			h.http2 = offersHTTP2(ext)
		case extPSKModes:
			h.tickets = true
		}
	}
	if r == nil {
		return unknown
	}
	return h
}

func offersHTTP2(ext reader) bool {
	for names := ext.vector(2); len(names) > 0; {
		if bytes.Equal(names.vector(1), []byte("h2")) {
			return true
		}
	}
	return false
}

// A reader takes apart a message. What goes beyond its end leaves it nil, and nil yields
// nothing more.
type reader []byte

// uint takes a number of n bytes.
func (r *reader) uint(n int) (v int) {
	if len(*r) < n {
		*r = nil
		return 0
	}
	for _, b := range (*r)[:n] {
		v = v<<8 | int(b)
	}
	*r = (*r)[n:]
	return v
}

func (r *reader) skip(n int) {
	if len(*r) < n {
		*r = nil
		return
	}
	*r = (*r)[n:]
}

// vector takes what a length of n bytes announces. Empty, it isn't nil.
func (r *reader) vector(n int) reader {
	size := r.uint(n)
	if *r == nil || len(*r) < size {
		*r = nil
		return nil
	}
	v := (*r)[:size:size]
	*r = (*r)[size:]
	return v
}

// A records finds the records in what is read from a TLS connection. The zero value is at
// the beginning of one.
type records struct {
	head  [recordHeaderLen]byte
	n     int // bytes in head
	left  int // bytes of the record that are to come
	data  int // records of data since the handshake, three at most
	first int // the length of the first of those
}

const (
	leastTicket, mostTicket = 150, 320 // the usual sizes of a record with a session ticket
)

// restart is called while the client is still at its handshake.
func (r *records) restart() { r.data, r.first = 0, 0 }

// scan takes the next bytes, and returns how many bytes of data have begun with them. Some
// servers (those with OpenSSL) send two session tickets to clients that have no use for
// any: two records of the same size, the first behind the handshake. When the second shows
// what they are, they are taken back.
func (r *records) scan(p []byte) (data int) {
	for len(p) > 0 {
		if r.left > 0 {
			n := min(r.left, len(p))
			r.left, p = r.left-n, p[n:]
			continue
		}
		n := copy(r.head[r.n:], p)
		r.n, p = r.n+n, p[n:]
		if r.n == recordHeaderLen {
			r.n, r.left = 0, recordLen(r.head[:])
			data += r.begun()
		}
	}
	return data
}

// begun counts the record whose header is complete.
func (r *records) begun() int {
	if r.head[0] != recordData {
		return 0
	}
	if r.data++; r.data > 2 {
		r.data = 3
		return r.left
	}
	if r.data == 2 && r.left == r.first && leastTicket <= r.left && r.left <= mostTicket {
		return -r.first
	}
	if r.data == 1 {
		r.first = r.left
	}
	return r.left
}
