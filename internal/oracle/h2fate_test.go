package oracle

import (
	"time"

	"example.com/connwise/internal/peer"

	"golang.org/x/net/http2"
)

// head meets a request whose head has come with its fate. It reports whether it goes on.
func (c *h2conn) head(f *peer.H2Frame, a *arrival) bool {
	fate := draw(c.rng, h2HeadFates)
	if f.End() && (fate == fateEarly || inBody(fate)) {
		return true // there is no body
	}
	c.meet(a, fate)
	switch fate {
	case fateServe:
		return true
	case fateLimit:
		c.limit = [...]int{1, 2, 4, usualLimit}[c.rng.IntN(4)]
		_ = c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(c.limit)})
		return true
	case fateRefuseHead:
		c.refuse(a)
	case fateResetHead:
		c.reset(a)
	case fateEarly:
		a.told = true
		_ = c.Headers(a.stream, true, ":status", "413", "content-length", "0")
		_ = c.Reset(a.stream, http2.ErrCodeNo)
		c.over(a)
	case fateAwayHead:
		c.away(c.done)
	case fateAwayCut:
		c.away(c.done)
		c.lose(styleRST)
	case fateHintBefore:
		c.hint(a)
		c.lose(drawStyle(c.rng))
	default: // fateInBody, fateRunInBody
		if fate == fateRunInBody {
			c.run(a)
		}
		c.lose(drawStyle(c.rng))
	}
	return false
}

// whole meets a request that has come whole with its fate.
func (c *h2conn) whole(q *peer.H2Request, a *arrival) {
	fate := draw(c.rng, h2WholeFates)
	c.meet(a, fate)
	switch fate {
	case fateAnswer:
		c.serve(q, a)
	case fateRefuseWhole:
		c.refuse(a)
	case fateHintRefuse:
		c.hint(a)
		c.refuse(a)
	case fateResetWhole:
		c.reset(a)
	case fateBefore:
		c.lose(drawStyle(c.rng))
	case fateAwayWhole:
		c.away(c.done)
		if a.stream <= c.done { // a later one was executed before
			c.serve(q, a)
		}
	case fateAwayAt, fateAwayAbove, fateAwayGrace:
		c.leave(q, a, fate)
	case fateAwayCut:
		if c.rng.IntN(2) == 0 {
			c.execute(q, a)
		}
		c.away(c.done)
		c.lose(styleRST)
	default:
		c.execute(q, a)
		c.spoilAnswer(q, a, fate)
	}
}

// serve executes and answers a request, at once or later.
func (c *h2conn) serve(q *peer.H2Request, a *arrival) {
	switch c.rng.IntN(4) {
	case 0: // executed later, or never, if the connection has ended by then
		c.later(span(c.rng, delaySpan), func() {
			if !c.gone && c.open[a.stream] == a {
				c.execute(q, a)
				c.answer(q, a)
			}
		})
	case 1: // answered later
		c.execute(q, a)
		c.later(span(c.rng, delaySpan), func() { c.answer(q, a) })
	default:
		c.execute(q, a)
		c.answer(q, a)
	}
}

// later calls f after d, with the lock.
func (c *h2conn) later(d time.Duration, f func()) {
	c.wg.Go(func() {
		if c.port.pause(d) {
			c.mu.Lock()
			defer c.mu.Unlock()
			f()
		}
	})
}

// leave takes the connection out of service while a request is served.
func (c *h2conn) leave(q *peer.H2Request, a *arrival, f fate) {
	c.execute(q, a)
	switch f {
	case fateAwayAt:
		c.away(c.done) // not below a
	case fateAwayAbove:
		c.away(c.done + 2*uint32(1+c.rng.IntN(3)))
	default:
		_ = c.GoAway(anyStream, http2.ErrCodeNo)
		strict := c.rng.IntN(2) == 0
		c.later(span(c.rng, graceSpan), func() {
			switch {
			case c.gone:
			case strict:
				c.away(c.done)
			default:
				c.away(c.seen)
			}
		})
	}
	c.later(span(c.rng, delaySpan), func() { c.answer(q, a) })
}

// spoilAnswer doesn't answer, or not in full, a request that was executed.
func (c *h2conn) spoilAnswer(q *peer.H2Request, a *arrival, f fate) {
	switch f {
	case fateResetAfter:
		c.reset(a)
	case fateResetHalf:
		c.begin(q, a)
		c.refuse(a)
	case fateHalf:
		c.begin(q, a)
		if q.Field(":method") != "HEAD" {
			_ = c.Data(a.stream, false, []byte(answerText(q.Field("x-request-id")))[:1])
		}
		c.lose(drawStyle(c.rng))
	case fateHintAfter:
		c.hint(a)
		c.lose(drawStyle(c.rng))
	default: // fateAfter
		c.lose(drawStyle(c.rng))
	}
}
