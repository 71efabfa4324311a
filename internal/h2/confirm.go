package h2

import (
	"context"
	"errors"
	"time"

	"example.com/connwise/internal/wire"
)

var (
	// ErrUnconfirmed says that a PING wasn't answered in time: nobody knows whether the peer is
	// there.
	ErrUnconfirmed = errors.New("h2: the peer gave no sign of life")
	// ErrNotAsked says that the peer couldn't be asked for a sign of life: PINGs have come too
	// often for it already, without HEADERS or DATA from its side in between.
	ErrNotAsked = errors.New("h2: the peer was asked for too many signs of life")
)

// Confirm waits until the peer has answered a PING. If one is out, it's that: many who ask at a
// time make for one PING. After wait without an answer it returns ErrUnconfirmed, and Suspect
// was told, until a frame comes. It returns ErrNotAsked at once where no PING may be sent, and
// the connection's own error if it takes no new stream any more, or when that begins. ctx and
// cancel, which may be nil, end the wait.
func (c *Conn) Confirm(ctx context.Context, cancel <-chan struct{}, wait time.Duration) error {
	c.mu.Lock()
	c.pingLocked(time.Now())
	if err := c.askableLocked(); err != nil {
		c.unlock()
		return err
	}
	if c.pong == nil {
		c.pong = make(chan struct{})
	}
	pong := c.pong
	c.writeAndUnlock()
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-pong:
	case <-t.C:
	case <-ctx.Done():
		return wire.Ended(ctx)
	case <-cancel:
		return wire.ErrCanceled
	}
	return c.heardFrom(pong)
}

// askableLocked returns why there is no answer to wait for; nil if there is.
func (c *Conn) askableLocked() error {
	switch {
	case c.closing != nil:
		return c.closing
	case c.werr != nil:
		return c.werr
	case !c.pingOut:
		return ErrNotAsked
	}
	return nil
}

// heardFrom says what became of the PING whose answer closes pong.
func (c *Conn) heardFrom(pong chan struct{}) error {
	c.mu.Lock()
	defer c.unlock()
	switch {
	case c.closing != nil:
		return c.closing
	case c.pong != pong:
		return nil
	}
	c.doubtLocked()
	return ErrUnconfirmed
}

// tellPongLocked wakes those who wait in Confirm: the answer has come, or makes no difference
// any more.
func (c *Conn) tellPongLocked() {
	if c.pong != nil {
		close(c.pong)
		c.pong = nil
	}
}
