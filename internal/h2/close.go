package h2

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

const (
	// farewellTime bounds the courtesy of a GOAWAY and a TLS close_notify alert: the peer's
	// window may be shut.
	farewellTime = 50 * time.Millisecond
	// endWait is how long a closed connection's Read and Write may take to end.
	endWait = time.Second
)

var errClosed = fmt.Errorf("h2: the connection was closed: %w", net.ErrClosed)

// Close closes the connection, with a GOAWAY and a TLS close_notify if they can be written
// within 50 ms. Streams under way fail. Later calls do nothing. It returns nil.
func (c *Conn) Close() error {
	c.end(errClosed, http2.ErrCodeNo, true)
	return nil
}

// Kill closes the connection at once. Streams under way fail with err.
func (c *Conn) Kill(err error) { c.end(err, 0, false) }

// fail is Kill for what this package finds out itself.
func (c *Conn) fail(err error) { c.end(err, 0, false) }

// end closes the connection for the reason err, of which the first counts. The read loop does
// the rest.
func (c *Conn) end(err error, code http2.ErrCode, polite bool) {
	c.mu.Lock()
	if c.fatal != nil {
		c.mu.Unlock()
		return
	}
	c.fatal = err
	c.retireLocked(err)
	c.endBy(endWait, err)
	c.unlock()
	if !polite || !c.lead() {
		c.once.Do(func() { c.shut(nil) })
		return
	}
	c.once.Do(func() { c.shut(appendGoAway(nil, code)) })
	c.mu.Lock()
	c.retreatLocked()
	c.unlock()
}

// lead takes the writer's role for a last frame, if that is to be had soon.
func (c *Conn) lead() bool {
	c.awaitVacancy(farewellTime)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing || c.werr != nil {
		return false
	}
	c.writing = true
	return true
}

// endBy has the connection over in d at the latest, even if its Read doesn't end. c.mu is held.
func (c *Conn) endBy(d time.Duration, err error) {
	if c.deadline != nil {
		c.deadline.Stop()
	}
	c.deadline = time.AfterFunc(d, func() { c.conclude(err) })
}

// shut closes nc, with a last frame if there is one.
func (c *Conn) shut(last []byte) {
	end := func() {
		if last == nil {
			wire.Cut(c.nc, c.raw, c.layers)
			return
		}
		c.nc.Write(last) // it's only a courtesy
		c.nc.Close()
	}
	if c.sock != nil {
		if last != nil {
			c.sock.write(last)
		}
		c.nc.Close()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		end()
	}()
	t := time.NewTimer(farewellTime)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		switch c.raw.(type) {
		case *net.TCPConn, *net.UnixConn:
			c.raw.Close()
		default: // the Close of somebody else's connection may be what takes long
			go c.raw.Close()
		}
	}
}

// conclude ends the connection, whose Read has failed with err or doesn't end, and tells
// everybody.
func (c *Conn) conclude(err error) {
	code, polite := http2.ErrCode(0), false
	if e, ok := errors.AsType[*ConnError](err); ok {
		code, polite = e.Code, true
	}
	c.mu.Lock()
	if c.werr != nil && !polite {
		err = c.werr // the kernel tells of a reset once; a read has only its consequence
	}
	c.mu.Unlock()
	c.end(err, code, polite)
	c.awaitVacancy(endWait)
	c.mu.Lock()
	c.overLocked()
	c.unlock()
	c.mu.Lock()
	if !c.toldEnd {
		c.toldEnd = true
		c.events = append(c.events, event{kind: eventClosed, err: c.lossLocked(c.fatal, 0)})
	}
	c.unlock()
}

// overLocked ends all streams. What Write has accepted of each is known for good.
func (c *Conn) overLocked() {
	if c.over {
		return
	}
	c.over = true
	c.deadline.Stop()
	c.vitals.stop()
	if !c.peer.seen {
		close(c.settled)
	}
	c.retireLocked(c.fatal)
	for id, x := range c.streams {
		c.lostLocked(x, c.lossLocked(c.fatal, id))
		x.poke()
	}
	for _, t := range []*batch{&c.cur, &c.out} {
		for _, s := range t.segs[t.at:] {
			if s.x != nil && s.mark&markReset != 0 {
				c.leaving--
				c.tellLocked(s.x)
			}
		}
	}
}
