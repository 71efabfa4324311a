package h2

import (
	"encoding/binary"
	"time"

	"example.com/connwise/internal/wire"
)

// vitals are what is known of whether the peer is there. Guarded by Conn.mu.
type vitals struct {
	settings *time.Timer // on the peer's first frame
	quiet    *time.Timer // on the next frame, while streams are open
	quietOn  bool
	quietAt  time.Time // when it was set
	late     *time.Timer
	later    *time.Timer // a PING that had to wait

	pingOut  bool      // one hasn't been answered
	pingAt   time.Time // when the last one was sent
	pingData [8]byte
	pong     chan struct{} // of those who wait for its answer; nil if nobody does
	pings    int64
	rtt      time.Duration
	unpaid   int // PINGs since HEADERS or DATA came
	misses   int // streams that timed out unanswered since then, one after the other
	missedAt time.Time
	suspect  bool // one timed out, and nothing has come since it was sent
}

// Servers take PINGs for an attack if they come too often: gRPC's close the connection after
// the third without HEADERS or DATA in between, unless five minutes lie between them; others
// when they come faster than ten a second or so.
const (
	// PingGap is how long lies between two PINGs at least.
	PingGap = 150 * time.Millisecond

	maxUnpaid  = 2
	unpaidGap  = 5 * time.Minute
	doubtWait  = 50 * time.Millisecond // a caller who waited for less knows nothing of the peer
	fairWait   = time.Second           // or of who is behind it
	maxMissing = 3                     // after so many streams timed out in a row, PINGs or not, the connection is not trusted
)

func (h *vitals) stop() {
	for _, t := range []*time.Timer{h.settings, h.quiet, h.late, h.later} {
		if t != nil {
			t.Stop()
		}
	}
}

// pingWait returns how long a PING has to wait, zero if it may be sent now.
func (h *vitals) pingWait(now time.Time) time.Duration {
	gap := PingGap
	if h.unpaid >= maxUnpaid {
		gap = unpaidGap
	}
	if h.pingAt.IsZero() {
		return 0
	}
	return max(0, gap-now.Sub(h.pingAt))
}

// Ping asks the peer for a sign of life, unless that has been done, or was done too often. It
// doesn't wait for it: State, Suspect and ConnClosed tell.
func (c *Conn) Ping() {
	c.mu.Lock()
	c.pingLocked(time.Now())
	c.writeAndUnlock()
}

func (c *Conn) pingLocked(now time.Time) {
	if c.pingOut || c.fatal != nil || c.werr != nil || c.pingWait(now) > 0 {
		return
	}
	c.pingOut, c.pingAt = true, now
	c.pings++
	c.unpaid++
	binary.BigEndian.PutUint64(c.pingData[:], uint64(c.pings))
	c.out.b = appendPing(c.out.b, 0, c.pingData)
	c.out.add(nil, frameHead+8, 0)
	c.setLocked(&c.late, c.opt.pingTimeout(), c.pingLate)
}

// setLocked has f called in d.
func (c *Conn) setLocked(t **time.Timer, d time.Duration, f func()) {
	if *t == nil {
		*t = time.AfterFunc(d, f)
	} else {
		(*t).Reset(d)
	}
}

// pongLocked takes the answer to a PING.
func (c *Conn) pongLocked(data [8]byte) {
	c.aliveLocked()
	if !c.pingOut || data != c.pingData {
		return
	}
	c.pingOut = false
	c.late.Stop()
	c.rtt = time.Since(c.pingAt)
	c.tellPongLocked()
}

// pingLate ends the connection, unless frames come: then the answer is behind them.
func (c *Conn) pingLate() {
	limit := c.opt.pingTimeout()
	c.mu.Lock()
	if !c.pingOut || c.fatal != nil {
		c.mu.Unlock()
		return
	}
	since := c.pingAt
	if c.lastRead.After(since) {
		since = c.lastRead
	}
	if left := limit - time.Since(since); left > 0 {
		c.late.Reset(left)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	c.opt.count("conn_close_lost_ping")
	c.fail(&wire.TimeoutError{What: wire.WhatPing, After: limit})
}

// watchQuietLocked is called when a stream begins.
func (c *Conn) watchQuietLocked() {
	if c.opt.PingAfter > 0 && !c.quietOn {
		c.quietOn, c.quietAt = true, time.Now()
		c.setLocked(&c.quiet, c.opt.PingAfter, c.quietDue)
	}
}

// quietDue sends a PING if nothing has come for so long, and looks again later.
func (c *Conn) quietDue() {
	c.mu.Lock()
	if len(c.streams) == 0 || c.fatal != nil {
		c.quietOn = false
		c.mu.Unlock()
		return
	}
	now := time.Now()
	since := c.quietAt
	if c.lastRead.After(since) {
		since = c.lastRead
	}
	left := c.opt.PingAfter - now.Sub(since)
	if left <= 0 {
		c.pingLocked(now)
		left = c.opt.PingAfter
	}
	c.quiet.Reset(left)
	c.writeAndUnlock()
}

// noteAnswerLocked is called when HEADERS or DATA have come.
func (c *Conn) noteAnswerLocked() {
	c.unpaid, c.misses = 0, 0
	c.aliveLocked()
}

// aliveLocked is called when a frame has come.
func (c *Conn) aliveLocked() {
	if c.suspect {
		c.suspect = false
		c.events = append(c.events, event{kind: eventSuspect, yes: false})
	}
}

// doubtLocked is called when the peer may be gone.
func (c *Conn) doubtLocked() {
	if !c.suspect {
		c.suspect = true
		c.events = append(c.events, event{kind: eventSuspect, yes: true})
	}
}

// missedLocked is called when x has timed out without an answer, by the limit for answers or
// by its caller's deadline. If nothing at all has come
// since it was sent, the peer may be gone: it's asked, and the owner warned. A few such
// streams in a row are reason enough to leave it alone, as what answers PINGs may not be who
// ought to answer requests.
func (c *Conn) missedLocked(x *Exchange, limit bool) {
	if x.answered || !x.headOut || c.fatal != nil {
		return
	}
	now := time.Now()
	// Callers who hardly wait say nothing about the connection, and those who waited at the same
	// time say one thing.
	if (limit || now.Sub(x.sentAt) >= fairWait) && !x.sentAt.Before(c.missedAt) {
		c.missedAt = now
		if c.misses++; c.misses >= maxMissing {
			c.goAwayLocked(GoAway{Local: true})
		}
	}
	if !c.lastRead.Before(x.sentAt) || now.Sub(x.sentAt) < doubtWait {
		return
	}
	c.doubtLocked()
	if wait := c.pingWait(now); wait > 0 && !c.pingOut {
		c.setLocked(&c.later, wait, c.pingLater)
		return
	}
	c.pingLocked(now)
}

// pingLater sends a PING that was put off, if the doubt is still there.
func (c *Conn) pingLater() {
	c.mu.Lock()
	if c.suspect {
		c.pingLocked(time.Now())
	}
	c.writeAndUnlock()
}
