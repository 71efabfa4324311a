package peer

import (
	"errors"
	"net"

	"golang.org/x/net/http2"
)

const (
	anyStream    = 1<<31 - 1 // the last id of a GOAWAY that another one will follow
	maxFarewells = 16        // GOAWAYs of a client's that a report repeats
)

var (
	errExpelled = errors.New("peer: too many PINGs")
	errClosed   = errors.New("peer: server is closed")
)

// departLocked begins to end a connection in Serve. Later calls do nothing.
func (c *H2Conn) departLocked(g H2GoAway) error {
	if c.leave.begun {
		return nil
	}
	c.leave.begun, c.leave.style, c.leave.now = true, g.Style, g.Now
	switch {
	case g.Quiet, g.Style == Silence:
		c.leave.final = true
		return c.leaveIfEmpty()
	case g.Grace <= 0:
		return c.finalLocked()
	}
	c.srv.wg.Go(func() {
		if c.srv.pause(g.Grace) {
			c.mu.Lock()
			defer c.mu.Unlock()
			_ = c.finalLocked()
			_ = c.bw.Flush()
		}
	})
	return c.goAwayLocked(anyStream, http2.ErrCodeNo)
}

// finalLocked sends the GOAWAY with the true last id.
func (c *H2Conn) finalLocked() error {
	c.leave.final = true
	if err := c.goAwayLocked(c.leave.admitted, http2.ErrCodeNo); err != nil {
		return err
	}
	return c.leaveIfEmpty()
}

// leaveIfEmpty closes the sending side when nothing is left to answer. The connection
// is still read, for lingerTime, so that the close doesn't become a reset.
func (c *H2Conn) leaveIfEmpty() error {
	if !c.leave.final || c.leave.gone || len(c.streams.open) > 0 && !c.leave.now {
		return nil
	}
	c.leave.gone = true
	switch c.leave.style {
	case RST:
		_ = c.bw.Flush()
		c.Close(RST)
		return nil
	case Silence:
		c.quietFor(0)
		return nil
	}
	if t, ok := c.raw.(*net.TCPConn); ok {
		cork(t)
	}
	err := c.bw.Flush()
	c.sendFIN(c.leave.style)
	c.quietFor(lingerTime)
	return err
}

// rest is called when the last open stream has ended; wake when there is one again.
// c.mu is held.
func (c *H2Conn) rest() {
	if !c.serving {
		return
	}
	if c.leave.begun {
		_ = c.leaveIfEmpty()
	} else if d := c.srv.plan.Load().IdleTimeout; d > 0 {
		c.quietFor(d)
	}
}

func (c *H2Conn) wake() {
	if c.serving && !c.leave.gone && len(c.streams.open) == 1 {
		c.quietFor(0)
	}
}

// expel ends the connection of a client that sent too many PINGs.
func (c *H2Conn) expel() error {
	c.mu.Lock()
	c.leave.final, c.leave.gone = true, true
	_ = c.goAwayLocked(c.streams.last, http2.ErrCodeEnhanceYourCalm)
	c.mu.Unlock()
	c.quietFor(lingerTime)
	c.Linger()
	return errExpelled
}
