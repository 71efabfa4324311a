package h2

import (
	"time"

	"example.com/connwise/internal/wire"
)

// maxStreamID is the last id that a client can use (RFC 9113 section 5.1.1).
const maxStreamID = 1<<31 - 1

// maxDataFrame bounds a DATA frame, in bytes, where the peer would take a longer one: other
// streams wait while it is sent.
const maxDataFrame = 64 << 10

// commitLocked adds to out what is worth no frame of its own before: requests, data, credit.
// A request gets its id, and its fields are encoded, only here, when its bytes are about to
// be written: until then it can be taken back without a trace.
func (c *Conn) commitLocked() {
	for c.waiting.n > 0 && len(c.out.b) < batchSize {
		c.openLocked(c.waiting.pop())
	}
	for c.window > 0 && c.uploads.n > 0 && len(c.out.b) < batchSize {
		c.dataLocked(c.uploads.pop())
	}
	c.creditsLocked()
}

// openLocked makes a stream of x.
func (c *Conn) openLocked(x *Exchange) {
	if limit := c.peer.headerList; limit > 0 && x.listSize > limit {
		c.dropLocked(x, wire.EndError, &wire.RequestError{Err: errHeaderList})
		return
	}
	x.id = c.nextID
	c.nextID += 2
	c.streams[x.id] = x
	x.state = stateOpen
	x.window = c.peer.window
	x.inflow = inflow{size: c.opt.streamWindow(), avail: c.opt.streamWindow()}
	m := markHead
	if x.bodiless {
		x.endQueued = true
		m |= markEnd
	}
	c.appendBlockLocked(x, x.fields.list, x.bodiless, m)
	x.fields.drop()
	if x.small != nil && !x.gated {
		c.offerLocked(x, x.small, true)
		x.small = nil
	}
	if c.nextID > maxStreamID {
		c.goAwayLocked(GoAway{Local: true})
	}
	c.watchQuietLocked()
}

// appendBlockLocked appends a header section as HEADERS and CONTINUATION frames.
func (c *Conn) appendBlockLocked(x *Exchange, fields []field, end bool, m mark) {
	start := len(c.out.b)
	c.out.b = append(c.out.b, make([]byte, frameHead)...)
	for i := range fields {
		c.enc.WriteField(fields[i]) // blockSink has no errors
	}
	c.out.b = splitBlock(c.out.b, start, x.id, end, c.peer.maxFrame)
	c.addLocked(x, len(c.out.b)-start, m)
}

// addLocked notes that the last n bytes of out are x's.
func (c *Conn) addLocked(x *Exchange, n int, m mark) {
	x.queued += int64(n)
	c.out.add(x, n, m)
}

// blockSink is where the encoder writes to: a batch.
type blockSink Conn

func (s *blockSink) Write(p []byte) (int, error) {
	s.out.b = append(s.out.b, p...)
	return len(p), nil
}

// offerLocked gives x data to send; last: they end the body. p must not change until it has
// been taken, or the stream has failed. x has none left.
func (c *Conn) offerLocked(x *Exchange, p []byte, last bool) {
	x.data, x.last = p, last
	switch {
	case len(p) > 0 && x.window > 0:
		c.uploads.push(x)
	case len(p) == 0 && last:
		c.endLocked(x)
	}
}

// dataLocked appends a DATA frame of x's data.
func (c *Conn) dataLocked(x *Exchange) {
	n := min(len(x.data), int(x.window), int(c.window), c.peer.maxFrame, maxDataFrame)
	end := x.last && n == len(x.data) && !x.trailers
	m := mark(0)
	if end {
		x.endQueued = true
		m = markEnd
	}
	c.appendDataLocked(x, x.data[:n], end, m)
	x.data = x.data[n:]
	x.window -= int32(n)
	c.window -= int32(n)
	c.spent += 2 * int64(n) // of two windows
	switch {
	case len(x.data) > 0:
		if x.window > 0 {
			c.uploads.push(x)
		}
		return
	case x.last && !end:
		c.endLocked(x)
	}
	x.data = nil
	x.up.take()
}

// endLocked appends the end of x's body: trailers, or an empty DATA frame.
func (c *Conn) endLocked(x *Exchange) {
	x.endQueued = true
	if x.trailers {
		c.appendBlockLocked(x, x.fields.list, true, markEnd)
		x.fields.drop()
	} else {
		c.appendDataLocked(x, nil, true, markEnd)
	}
	x.up.take()
}

func (c *Conn) appendDataLocked(x *Exchange, p []byte, end bool, m mark) {
	c.out.b = appendDataHead(c.out.b, len(p), end, x.id)
	c.out.b = append(c.out.b, p...)
	c.addLocked(x, frameHead+len(p), m)
}

// acceptedLocked is told what Write has accepted of x.
func (c *Conn) acceptedLocked(x *Exchange, m mark, now time.Time) {
	if m&markReset != 0 {
		c.leaving--
		c.tellLocked(x)
		return
	}
	if m&markHead != 0 {
		x.headOut = true
		x.sentAt = now
		if x.up != nil && !x.gated && x.err == nil {
			x.up.begin()
		}
	}
	if m&markEnd != 0 {
		x.allSent = true
		x.sentAt = now
		x.traceLate(nil)
		if x.up != nil {
			x.up.sent()
		}
		c.settleLocked(x)
	}
	if x.eager {
		x.poke()
	}
}
