package h2

import (
	"errors"
	"io"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

var (
	errShort = io.ErrUnexpectedEOF
	errLong  = errors.New("server replied with more than declared Content-Length; truncated")
)

// onData reads a DATA frame. What comes is taken out of the windows at once, and its credit
// given back when it has been read, or isn't wanted by anybody.
func (c *Conn) onData(fh http2.FrameHeader) error {
	n, pad, err := c.dataSizes(fh)
	if err != nil {
		return err
	}
	x, err := c.admitData(fh, int32(n), int32(fh.Length)-int32(n))
	if err != nil {
		if _, stream := err.(http2.StreamError); stream {
			c.skip(n + pad)
		}
		return err
	}
	if x == nil {
		return c.skip(n + pad)
	}
	if n > 0 {
		if err := c.readChunk(x, n); err != nil {
			return err
		}
	}
	if err := c.skip(pad); err != nil {
		return err
	}
	if fh.Flags.Has(http2.FlagDataEndStream) {
		c.mu.Lock()
		if x.state == stateOpen {
			c.endReadingLocked(x)
		}
		c.unlock()
	}
	return nil
}

// dataSizes returns the lengths of the data and of the padding behind it, in bytes.
func (c *Conn) dataSizes(fh http2.FrameHeader) (n, pad int, err error) {
	n = int(fh.Length)
	if fh.StreamID == 0 {
		return 0, 0, protocolError("DATA on stream 0")
	}
	if !fh.Flags.Has(http2.FlagDataPadded) {
		return n, 0, nil
	}
	if n == 0 {
		return 0, 0, &ConnError{Code: http2.ErrCodeFrameSize, Reason: "DATA too short for its padding"}
	}
	b, err := c.br.ReadByte()
	if err != nil {
		return 0, 0, err
	}
	n--
	if pad = int(b); pad > n {
		return 0, 0, protocolError("DATA shorter than its padding")
	}
	return n - pad, pad, nil
}

func (c *Conn) skip(n int) error {
	_, err := c.br.Discard(n)
	if err == io.EOF && n > 0 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// admitData finds out who wants n bytes of data, with extra bytes of padding around. It
// returns nil if nobody does.
func (c *Conn) admitData(fh http2.FrameHeader, n, extra int32) (*Exchange, error) {
	c.mu.Lock()
	defer c.unlock()
	c.noteAnswerLocked()
	if !c.inflow.take(n + extra) {
		return nil, flowError("DATA beyond the connection's window")
	}
	x := c.streams[fh.StreamID]
	if x == nil {
		c.creditLocked(n + extra)
		if err := c.unknownLocked(fh.StreamID); err != nil {
			return nil, err
		}
		if c.afloat.takeData(n + extra) {
			return nil, nil
		}
		return nil, c.flood.stray()
	}
	if err := c.judgeDataLocked(x, n, extra); err != nil {
		c.creditLocked(n + extra)
		return nil, err
	}
	if c.opt.ConnWindow == 0 {
		c.creditLocked(n + extra)
	} else {
		c.creditLocked(extra)
	}
	if extra > 0 && x.inflow.refund(extra) {
		c.creditStreamLocked(x)
	}
	if n > 0 {
		c.flood.useful()
		return x, nil
	}
	if fh.Flags.Has(http2.FlagDataEndStream) {
		return x, nil
	}
	return x, c.flood.empty()
}

// judgeDataLocked reports what's wrong with n bytes of data for x.
func (c *Conn) judgeDataLocked(x *Exchange, n, extra int32) error {
	bad := func(code http2.ErrCode, cause string) error {
		return http2.StreamError{StreamID: x.id, Code: code, Cause: errors.New(cause)}
	}
	switch {
	case x.peerEnd:
		return bad(http2.ErrCodeStreamClosed, "DATA after END_STREAM")
	case !x.headed:
		return bad(http2.ErrCodeProtocol, "DATA before HEADERS")
	case x.empty && n > 0:
		return bad(http2.ErrCodeProtocol, "DATA in an answer that has no content")
	case !x.inflow.take(n + extra):
		return bad(http2.ErrCodeFlowControl, "DATA beyond the stream's window")
	}
	return nil
}

// readChunk takes in n bytes of data for x.
func (c *Conn) readChunk(x *Exchange, n int) error {
	if n <= c.br.Buffered() {
		c.mu.Lock()
		if k := x.body.tail(); k != nil && k.room() >= n && x.state == stateOpen {
			p, _ := c.br.Peek(n)
			k.write(p)
			c.gotDataLocked(x, n)
			c.unlock()
			return c.skip(n)
		}
		c.unlock()
	}
	for n > 0 {
		k := newChunk(n)
		m := min(n, len(k.b))
		if _, err := io.ReadFull(c.br, k.b[:m]); err != nil {
			k.free()
			return err
		}
		k.w = m
		n -= m
		c.mu.Lock()
		if x.state == stateOpen {
			x.body.push(k)
			c.gotDataLocked(x, m)
		} else {
			c.unreadLocked(int32(m))
			k.free()
		}
		c.unlock()
	}
	return nil
}

// gotDataLocked notes n bytes that were added to x's body. Those beyond the declared length
// are cut off.
func (c *Conn) gotDataLocked(x *Exchange, n int) {
	c.stainLocked(x)
	if x.left < 0 {
		return
	}
	if x.left -= int64(n); x.left >= 0 {
		return
	}
	x.body.cut(int(-x.left))
	c.unreadLocked(int32(-x.left))
	x.left = 0
	c.failLocked(x, wire.EndError, http2.StreamError{StreamID: x.id, Code: http2.ErrCodeProtocol, Cause: errLong}, http2.ErrCodeProtocol)
}

// unreadLocked gives credit back for n bytes of data that nobody will read.
func (c *Conn) unreadLocked(n int32) {
	if c.opt.ConnWindow != 0 {
		c.creditLocked(n)
	}
}

// creditLocked gives n bytes of the connection's window back.
func (c *Conn) creditLocked(n int32) {
	if n > 0 && c.inflow.refund(n) {
		c.creditUrgent = true
	}
}

// creditStreamLocked has x's credit sent with the next batch, at once.
func (c *Conn) creditStreamLocked(x *Exchange) {
	if !x.crediting && x.state == stateOpen && !x.peerEnd {
		x.crediting = true
		c.creditors = append(c.creditors, x)
		c.creditUrgent = true
	}
}
