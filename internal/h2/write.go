package h2

import (
	"io"
	"net"
	"runtime"
	"time"

	"golang.org/x/net/http2/hpack"

	"example.com/connwise/internal/wire"
)

// writer is the sending side of a connection. Who has something to write appends it to out,
// and if nobody writes, takes the writer's role: it takes the batch, writes it, and goes on
// until there is nothing left. So what comes while a Write is under way leaves together.
// Nobody who has something else to do waits in a Write: what the socket doesn't take at once
// is left to a goroutine. Guarded by Conn.mu, except for cur's bytes, which are the role's.
type writer struct {
	out     batch // to be written
	cur     batch // being written
	enc     *hpack.Encoder
	uploads list // streams with data that their own windows let go

	creditors    []*Exchange // streams whose credit is due
	creditUrgent bool        // credit is worth a frame of its own

	acks    int   // frames in out that the peer made necessary
	writing bool  // somebody has the role
	werr    error // a Write failed: nothing more is written
	vacant  chan struct{}
}

const (
	pumpRounds = 8        // so often somebody who has other things to do writes
	stallPiece = 16 << 10 // so much is written at a time under a write stall limit
	joinAt     = 4        // with so many streams it's worthwhile to let others join a batch
)

// writeAndUnlock gives c.mu back, and writes what waits if nobody else does. It doesn't
// block.
func (c *Conn) writeAndUnlock() {
	lead := !c.writing && c.wantsWriteLocked()
	c.writing = c.writing || lead
	join := lead && len(c.streams)+c.waiting.n >= joinAt
	c.unlock()
	if !lead {
		return
	}
	if join {
		runtime.Gosched() // who was woken with this one may have something to write, too
	}
	c.pump()
}

func (c *Conn) wantsWriteLocked() bool {
	return c.werr == nil && c.fatal == nil &&
		(len(c.out.b) > 0 || c.creditUrgent || c.waiting.n > 0 || c.uploads.n > 0 && c.window > 0)
}

// A layer is a TLS layer that can keep what its socket doesn't take: health.TLSClient.
type layer interface {
	net.Conn
	WritesNow() bool
	WriteNow(p []byte) (n int, left bool, err error)
	Flush(limit int) (left bool, err error)
	TrackReads() (resting func() bool, ok bool)
}

// pump writes, in the writer's role, as long as that doesn't block.
func (c *Conn) pump() {
	for range pumpRounds {
		if c.sock == nil && c.tls == nil {
			break
		}
		if !c.takeBatch() {
			return
		}
		n, lags, err := c.writeNow(c.cur.b)
		switch left := len(c.cur.b) - n; {
		case lags:
			go c.drain(n, true)
			return
		case !c.wrote(n, err):
			return
		case left > 0:
			go c.drain(n, false)
			return
		}
	}
	go c.drain(len(c.cur.b), false)
}

// writeNow writes without waiting. lags says that p has been taken by the TLS layer, which has
// yet to get rid of it.
func (c *Conn) writeNow(p []byte) (n int, lags bool, err error) {
	if c.sock != nil {
		n, err = c.sock.write(p)
		return n, false, err
	}
	return c.tls.WriteNow(p)
}

// drain writes, in the writer's role, what is left of cur behind its first n bytes and
// whatever comes. With lags these are still in the TLS layer. It blocks.
func (c *Conn) drain(n int, lags bool) {
	if lags && !c.wrote(n, c.flush()) {
		return
	}
	for {
		if n == len(c.cur.b) {
			if !c.takeBatch() {
				return
			}
			n = 0
		}
		k, err := c.push(c.cur.b[n:])
		if !c.wrote(k, err) {
			return
		}
		n += k
	}
}

// flush waits until the TLS layer has got rid of what it has kept.
func (c *Conn) flush() error {
	limit := 0
	if c.opt.WriteStall > 0 {
		limit = stallPiece
	}
	for {
		t := c.stallTimer()
		left, err := c.tls.Flush(limit)
		if t != nil {
			t.Stop()
		}
		if !left || err != nil {
			return err
		}
	}
}

// stallTimer ends the connection if it isn't stopped in time. It's nil without a limit.
func (c *Conn) stallTimer() *time.Timer {
	stall := c.opt.WriteStall
	if stall == 0 {
		return nil
	}
	return time.AfterFunc(stall, func() {
		c.fail(&wire.TimeoutError{What: wire.WhatWriteStall, After: stall})
	})
}

// push is a Write, under the stall limit.
func (c *Conn) push(p []byte) (n int, err error) {
	if t := c.stallTimer(); t != nil {
		p = p[:min(len(p), stallPiece)]
		defer t.Stop()
	}
	n, err = c.nc.Write(p)
	n = max(0, min(n, len(p)))
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}

// takeBatch makes a batch of what waits. If there is nothing, it gives the role up.
func (c *Conn) takeBatch() bool {
	c.mu.Lock()
	c.cur.reset()
	if c.werr == nil && c.fatal == nil {
		c.commitLocked()
		if len(c.out.b) > 0 {
			c.cur, c.out = c.out, c.cur
			c.acks = 0
			c.unlock()
			return true
		}
	}
	c.retreatLocked()
	c.unlock()
	return false
}

// wrote notes what a Write of cur did, and reports whether the role goes on.
func (c *Conn) wrote(n int, err error) bool {
	c.mu.Lock()
	var now time.Time
	c.cur.advance(n, func(x *Exchange, m mark) {
		if now.IsZero() {
			now = time.Now()
		}
		c.acceptedLocked(x, m, now)
	})
	if err != nil {
		c.retreatLocked() // so that what is known of streams is known for good
		c.writeFailedLocked(err)
	}
	c.unlock()
	return err == nil
}

func (c *Conn) retreatLocked() {
	c.writing = false
	if c.vacant != nil {
		close(c.vacant)
		c.vacant = nil
	}
}

// readOn is how long a connection that can't be written any more is read: a GOAWAY may wait
// there that proves requests unprocessed, and answers count, too.
const readOn = time.Second

// writeFailedLocked ends the sending side. What no byte was accepted of is lost at once, and
// known to be unsent; what becomes of the rest is the read loop's to find out.
func (c *Conn) writeFailedLocked(err error) {
	if c.werr != nil || c.fatal != nil { // with fatal it's only that this side has closed
		return
	}
	c.werr = err
	c.retireLocked(err)
	for id, x := range c.streams {
		if x.sent == 0 {
			c.lostLocked(x, c.lossLocked(err, id))
			x.poke()
		}
	}
	c.endBy(readOn, err)
}

// awaitVacancy waits until nobody writes, but not for longer than d. The connection is closed.
func (c *Conn) awaitVacancy(d time.Duration) {
	c.mu.Lock()
	if !c.writing {
		c.mu.Unlock()
		return
	}
	if c.vacant == nil {
		c.vacant = make(chan struct{})
	}
	vacant := c.vacant
	c.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-vacant:
	case <-t.C:
	}
}
