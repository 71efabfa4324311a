package h2

import (
	"bufio"
	"errors"
	"io"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/connwise/internal/wire"
)

// reader is the receiving side. It belongs to the read loop.
type reader struct {
	br    *bufio.Reader
	fr    *http2.Framer
	dec   *hpack.Decoder
	names names
	blk   block
	frag  []byte      // payload that didn't fit in br's buffer
	dirty []*Exchange // to be woken before the loop waits
	flood flood

	ourAcks int // acknowledgements of our SETTINGS
}

func (r *reader) init(c *Conn) {
	r.br = newReader(c)
	r.fr = http2.NewFramer(io.Discard, r.br)
	r.fr.SetMaxReadFrameSize(c.opt.readFrame())
	r.fr.SetReuseFrames()
	r.dec = hpack.NewDecoder(c.opt.decoderTable(), c.onField)
	r.dec.SetMaxStringLength(int(min(c.opt.maxHeader()+maxNearMiss, 1<<30)))
}

// source is what the read loop's buffer reads: the connection. As the buffer is empty then,
// there is no whole frame left: it's the moment to pass on what the last ones said.
type source Conn

func (s *source) Read(p []byte) (int, error) {
	c := (*Conn)(s)
	c.wakeDirty()
	n, err := c.take(p)
	if n > 0 {
		now := time.Now()
		c.mu.Lock()
		c.lastRead = now
		c.mu.Unlock()
	}
	return n, err
}

// take reads from the connection. Resting tells the truth all the time if the socket can be
// read past the net.Conn, or a TLS layer says itself when it waits; else almost always.
func (c *Conn) take(p []byte) (int, error) {
	if c.sock != nil {
		return c.sock.read(p, &c.resting)
	}
	c.resting.Store(true)
	n, err := c.nc.Read(p)
	c.resting.Store(false)
	return max(0, min(n, len(p))), err
}

// wakeDirty wakes those whose streams have got something, each once, and writes what the
// peer's frames made necessary.
func (c *Conn) wakeDirty() {
	c.mu.Lock()
	for i, x := range c.dirty {
		x.dirty = false
		x.poke()
		c.dirty[i] = nil
	}
	c.dirty = c.dirty[:0]
	c.writeAndUnlock()
}

// stainLocked has x woken before the loop waits.
func (c *Conn) stainLocked(x *Exchange) {
	if !x.dirty {
		x.dirty = true
		c.dirty = append(c.dirty, x)
	}
}

func (c *Conn) readLoop() {
	err := c.readFrames()
	c.wakeDirty()
	c.conclude(err)
}

// readFrames deals with frames until the connection is over, and returns why.
func (c *Conn) readFrames() error {
	for first := true; ; first = false {
		fh, err := c.fr.ReadFrameHeader()
		if err == nil && first && (fh.Type != http2.FrameSettings || fh.Flags.Has(http2.FlagSettingsAck)) {
			return protocolError("the peer began with %v", fh.Type)
		}
		if err == nil {
			err = c.onFrame(fh)
		}
		if err != nil {
			if err = c.frameError(err); err != nil {
				return err
			}
		}
	}
}

func (c *Conn) onFrame(fh http2.FrameHeader) error {
	switch fh.Type {
	case http2.FrameData:
		return c.onData(fh)
	case http2.FrameHeaders, http2.FrameContinuation:
		return c.onHeaders(fh)
	}
	f, err := c.fr.ReadFrameForHeader(fh)
	if err != nil {
		return err
	}
	switch f := f.(type) {
	case *http2.SettingsFrame:
		return c.onSettings(f)
	case *http2.WindowUpdateFrame:
		return c.onWindowUpdate(f)
	case *http2.PingFrame:
		return c.onPing(f)
	case *http2.RSTStreamFrame:
		return c.onReset(f)
	case *http2.GoAwayFrame:
		return c.onGoAway(f)
	case *http2.PushPromiseFrame:
		return protocolError("PUSH_PROMISE, though push was declined")
	}
	return c.flood.idle() // PRIORITY, and what later documents define (RFC 9113 section 5.5)
}

// frameError turns an error of the framer's, or of this package, into the connection's end,
// or deals with it if it's only a stream's, and returns nil.
func (c *Conn) frameError(err error) error {
	switch e := err.(type) {
	case http2.StreamError:
		return c.streamError(e)
	case http2.ConnectionError:
		c.opt.count("conn_error_" + codeName(http2.ErrCode(e)))
		return &ConnError{Code: http2.ErrCode(e), Reason: "invalid frame", Err: c.fr.ErrorDetail()}
	case *ConnError:
		c.opt.count("conn_error_" + codeName(e.Code))
		return e
	}
	if errors.Is(err, http2.ErrFrameTooLarge) {
		c.opt.count("read_frame_too_large")
		return &ConnError{Code: http2.ErrCodeFrameSize, Reason: "frame too large", Err: err}
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF // streams or not, HTTP/2 has no other end than GOAWAY
	}
	return err
}

// streamError ends a stream on which the peer broke the protocol.
func (c *Conn) streamError(e http2.StreamError) error {
	c.opt.count("stream_error_" + codeName(e.Code))
	c.mu.Lock()
	defer c.unlock()
	if x := c.streams[e.StreamID]; x != nil {
		c.failLocked(x, wire.EndError, e, e.Code)
		c.stainLocked(x)
		return nil
	}
	return c.unknownLocked(e.StreamID)
}

// unknownLocked judges a frame for a stream that isn't open: one that never was is an error
// (RFC 9113 section 5.1).
func (c *Conn) unknownLocked(id uint32) error {
	if id%2 == 0 || id >= c.nextID {
		return protocolError("a frame for stream %d, which was never opened", id)
	}
	return nil
}

// payload returns the rest of the frame's payload, n bytes, and how much of br's buffer is to
// be discarded for it. It's valid until the next read.
func (c *Conn) payload(n int) (p []byte, discard int, err error) {
	if n <= c.br.Size() {
		p, err = c.br.Peek(n)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return p, n, err
	}
	if cap(c.frag) < n {
		c.frag = make([]byte, n)
	}
	p = c.frag[:n]
	_, err = io.ReadFull(c.br, p)
	return p, 0, err
}
