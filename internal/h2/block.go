package h2

import (
	"errors"
	"net/http"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2/hpack"
)

// A block is a header block that is being read, of one HEADERS frame and the CONTINUATIONs
// behind it.
type block struct {
	x        *Exchange // nil: the block is only decoded, as others depend on it
	id       uint32
	end      bool // END_STREAM
	trailers bool
	cost     int64 // of its frames
	size     int64 // of its fields, as RFC 9113 section 6.5.2 counts it
	h        http.Header
	vals     []string // room for values
	status   string
	interim  bool  // 1xx
	regular  bool  // a field that isn't a pseudo-header field has come
	err      error // what is wrong with it
	tooLong  bool
}

// onField is told of each field of the block.
func (c *Conn) onField(f hpack.HeaderField) {
	b := &c.blk
	b.size += int64(f.Size())
	if b.size > c.opt.maxHeader() {
		b.tooLong = true
		c.dec.SetEmitEnabled(false)
		return
	}
	if err := b.check(f); err != nil {
		b.err = err
		c.dec.SetEmitEnabled(false)
		return
	}
	if !f.IsPseudo() && !(b.interim && !b.x.wants1xx) {
		b.add(c.names.canonical(f.Name), f.Value)
	}
}

// check judges a field as net/http does (RFC 9113 sections 8.2.1 and 8.3).
func (b *block) check(f hpack.HeaderField) error {
	if !httpguts.ValidHeaderFieldValue(f.Value) {
		return errFieldValue // not quoted: it may be sensitive
	}
	if f.IsPseudo() {
		switch {
		case b.regular:
			return errPseudoOrder
		case f.Name != ":status" || b.trailers || b.status != "":
			return errPseudo
		}
		b.status = f.Value
		b.interim = len(f.Value) == 3 && f.Value[0] == '1'
		return nil
	}
	b.regular = true
	if !validName(f.Name) {
		return errFieldName
	}
	return nil
}

// validName reports whether s is a field name in lower case.
func validName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' || !httpguts.IsTokenRune(rune(c)) {
			return false
		}
	}
	return len(s) > 0
}

// add appends a value. Most fields have one, so these share an array.
func (b *block) add(key, value string) {
	if b.h == nil {
		b.h = make(http.Header)
		if !b.interim && !b.trailers {
			b.vals = b.x.vals[:]
		}
	}
	old := b.h[key]
	if old != nil || len(b.vals) == 0 {
		b.h[key] = append(old, value)
		return
	}
	v := b.vals[:1:1]
	b.vals = b.vals[1:]
	v[0] = value
	b.h[key] = v
}

var (
	errPseudoOrder  = errors.New("pseudo-header field behind a regular one")
	errPseudo       = errors.New("invalid pseudo-header field")
	errFieldName    = errors.New("invalid header field name")
	errFieldValue   = errors.New("invalid header field value")
	errHeaderFrames = errors.New("frame too short for its padding")
)
