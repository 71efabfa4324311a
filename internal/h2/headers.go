package h2

import (
	"encoding/binary"
	"errors"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/connwise/internal/wire"
)

const (
	// maxNearMiss is how much longer than the limit a field may be, in bytes, for only its
	// stream to fail.
	maxNearMiss = 64 << 10
	// fragmentCost is what each frame of a header block counts for on top of its bytes, so
	// that a block of empty ones ends, too.
	fragmentCost = 64
)

// onHeaders reads a HEADERS or CONTINUATION frame. The framer has seen to their order.
func (c *Conn) onHeaders(fh http2.FrameHeader) error {
	if fh.StreamID == 0 {
		return protocolError("%v on stream 0", fh.Type)
	}
	if fh.Type == http2.FrameHeaders {
		if err := c.beginBlock(fh); err != nil {
			return err
		}
	}
	p, discard, err := c.payload(int(fh.Length))
	if err != nil {
		return err
	}
	if fh.Type == http2.FrameHeaders {
		if p, err = unwrap(p, fh.Flags); err != nil {
			return &ConnError{Code: http2.ErrCodeProtocol, Reason: "HEADERS", Err: err}
		}
	}
	if err := c.decode(p); err != nil {
		return err
	}
	c.br.Discard(discard)
	if fh.Flags.Has(http2.FlagHeadersEndHeaders) {
		return c.endBlock()
	}
	return nil
}

// unwrap returns the fragment of a HEADERS frame without padding and priority (RFC 9113
// section 6.2).
func unwrap(p []byte, f http2.Flags) ([]byte, error) {
	pad := 0
	if f.Has(http2.FlagHeadersPadded) {
		if len(p) < 1 {
			return nil, errHeaderFrames
		}
		pad, p = int(p[0]), p[1:]
	}
	if f.Has(http2.FlagHeadersPriority) {
		if len(p) < 5 {
			return nil, errHeaderFrames
		}
		_ = binary.BigEndian.Uint32(p) // the dependency, which nobody heeds any more
		p = p[5:]
	}
	if pad > len(p) {
		return nil, errHeaderFrames
	}
	return p[:len(p)-pad], nil
}

// beginBlock finds out whose block comes.
func (c *Conn) beginBlock(fh http2.FrameHeader) error {
	c.blk = block{id: fh.StreamID, end: fh.Flags.Has(http2.FlagHeadersEndStream)}
	b := &c.blk
	c.mu.Lock()
	defer c.unlock()
	c.noteAnswerLocked()
	x := c.streams[fh.StreamID]
	if x == nil {
		c.dec.SetEmitEnabled(false)
		if err := c.unknownLocked(fh.StreamID); err != nil {
			return err
		}
		if c.afloat.takeFrame() {
			return nil
		}
		return c.flood.stray()
	}
	b.x = x
	b.trailers = x.headed
	x.answered = true
	c.dec.SetEmitEnabled(true)
	return nil
}

// decode feeds the decoder, within the limits.
func (c *Conn) decode(p []byte) error {
	b := &c.blk
	b.cost += int64(len(p)) + fragmentCost
	if b.cost > c.opt.maxHeader()+maxNearMiss {
		c.failBlock(&wire.HeaderLimitError{Limit: c.opt.maxHeader()})
		return &ConnError{Code: http2.ErrCodeEnhanceYourCalm, Reason: "header block too long"}
	}
	if _, err := c.dec.Write(p); err != nil {
		if errors.Is(err, hpack.ErrStringLength) {
			c.failBlock(&wire.HeaderLimitError{Limit: c.opt.maxHeader()})
			return &ConnError{Code: http2.ErrCodeEnhanceYourCalm, Reason: "header field too long"}
		}
		return &ConnError{Code: http2.ErrCodeCompression, Reason: "header block", Err: err}
	}
	return nil
}

// failBlock has the block's stream fail for a reason of its own, where the connection fails
// as well.
func (c *Conn) failBlock(err error) {
	c.mu.Lock()
	defer c.unlock()
	if x := c.blk.x; x != nil {
		c.failLocked(x, wire.EndError, err, http2.ErrCodeCancel)
		c.stainLocked(x)
	}
}

// endBlock acts on the block.
func (c *Conn) endBlock() error {
	b := &c.blk
	defer func() { *b = block{} }() // nothing of an exchange is to be held on to
	if err := c.dec.Close(); err != nil {
		return &ConnError{Code: http2.ErrCodeCompression, Reason: "header block", Err: err}
	}
	if b.x == nil {
		return nil
	}
	if b.tooLong {
		c.failBlock(&wire.HeaderLimitError{Limit: c.opt.maxHeader()})
		return nil
	}
	err := b.err
	if err == nil {
		if b.trailers {
			err = c.onTrailers()
		} else {
			err = c.onHead()
		}
	}
	if err == nil {
		return nil
	}
	switch err.(type) {
	case *wire.HeaderLimitError, *wire.InterimLimitError:
		c.failBlock(err)
		return nil
	}
	return http2.StreamError{StreamID: b.id, Code: http2.ErrCodeProtocol, Cause: err}
}
