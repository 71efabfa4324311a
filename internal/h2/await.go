package h2

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"time"

	"example.com/connwise/internal/wire"
)

// A progress is what Start has yet to act on, or has acted on.
type progress struct {
	wroteHead bool // a hook was told
	firstByte bool
	got100    bool
	timer     *time.Timer
	timerFor  timerFor
}

// timerFor says what Start's timer is set for.
type timerFor uint8

const (
	forNothing timerFor = iota
	forContinue
	forHeader
	forNothingMore
)

// await waits for the answer's head, and calls the hooks. The error is x.err.
func (x *Exchange) await(ctx context.Context) error {
	var p progress
	defer p.stop()
	for {
		ended, err := x.advance(&p)
		if ended || err != nil {
			return err
		}
		select {
		case <-x.wake:
		case <-ctx.Done():
			x.cancel(wire.EndCancelled, wire.Ended(ctx))
		case <-x.req.Cancel:
			x.cancel(wire.EndCancelled, wire.ErrCanceled)
		case <-p.due():
			x.overdue(&p)
		}
	}
}

// advance acts on what has happened. It reports whether the answer is there.
func (x *Exchange) advance(p *progress) (ended bool, err error) {
	c := x.c
	c.mu.Lock()
	if x.headed && !x.got100 {
		x.unwanted = x.gated
		x.gated = false
		c.settleLocked(x)
	}
	if !x.eager && !x.traced {
		ended, err = x.outcomeLocked()
		c.writeAndUnlock()
		return ended, err
	}
	now := x.glimpseLocked()
	c.writeAndUnlock()
	if x.traced {
		if err := x.tell(p, &now); err != nil {
			x.cancel(wire.EndError, err)
			return false, err
		}
	}
	if now.got100 && !p.got100 {
		p.got100 = true
		x.consent(p)
	}
	x.setTimer(p, &now)
	return now.headed, now.err
}

// outcomeLocked tells whether the answer is there, or with which error Start fails. An answer
// counts more than what became of the stream behind it, as its body tells; but not if it was
// this side that ended the exchange.
func (x *Exchange) outcomeLocked() (headed bool, err error) {
	if x.headed && !x.quit {
		return true, nil
	}
	return false, x.err
}

// A glimpse is a copy of what Start needs to know.
type glimpse struct {
	headOut, allSent, answered, headed, got100, expects bool
	hints                                               []interim
	err                                                 error
}

// glimpseLocked takes what is new. An answer may be there before the Write has said that the
// request is out.
func (x *Exchange) glimpseLocked() glimpse {
	g := glimpse{
		headOut: x.headOut || x.answered, allSent: x.allSent, answered: x.answered,
		got100: x.got100, expects: x.expects, hints: x.hints,
	}
	g.headed, g.err = x.outcomeLocked()
	x.hints = nil
	if g.hints != nil {
		x.interims, x.interimSize = 0, 0 // what the caller looks at is the caller's to limit
	}
	return g
}

// tell calls the hooks for what is new.
func (x *Exchange) tell(p *progress, now *glimpse) error {
	t := x.trace
	if now.headOut && !p.wroteHead {
		p.wroteHead = true
		if t.WroteHeaders != nil {
			t.WroteHeaders()
		}
		if now.expects && t.Wait100Continue != nil {
			t.Wait100Continue()
		}
	}
	if x.up == nil && !x.wrote && (now.allSent || now.err != nil) {
		x.wrote = true
		x.traceWrote(now.err)
	}
	if now.answered && !p.firstByte {
		p.firstByte = true
		if t.GotFirstResponseByte != nil {
			t.GotFirstResponseByte()
		}
	}
	consent := now.got100 && !p.got100 && now.expects && t.Got100Continue != nil
	if consent && t.Got1xxResponse == nil {
		t.Got100Continue()
	}
	for _, i := range now.hints {
		if consent && i.status == http.StatusContinue {
			consent = false
			t.Got100Continue()
		}
		if err := t.Got1xxResponse(i.status, textproto.MIMEHeader(i.header)); err != nil {
			return &wire.HookError{Err: err}
		}
	}
	return nil
}

// traceLate has the hook told of the request's end when Start has returned before.
func (x *Exchange) traceLate(err error) {
	if x.late {
		x.late = false
		go x.traceWrote(err)
	}
}

func (x *Exchange) traceWrote(err error) {
	if x.trace != nil && x.trace.WroteRequest != nil {
		x.trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
}

// setTimer sets the timer for what is to come next: the peer's consent, or the answer.
func (x *Exchange) setTimer(p *progress, now *glimpse) {
	header := x.req.ReadLimit(x.c.opt.HeaderTimeout)
	switch {
	case now.headed || now.err != nil:
	case now.headOut && now.expects && !p.got100 && p.timerFor == forNothing:
		p.set(x.c.opt.ContinueTimeout, forContinue)
	case now.allSent && header > 0 && p.timerFor != forHeader:
		p.set(header, forHeader)
	}
}

func (p *progress) set(d time.Duration, what timerFor) {
	p.stop()
	p.timer, p.timerFor = time.NewTimer(d), what
}

func (p *progress) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

func (p *progress) due() <-chan time.Time {
	if p.timer == nil {
		return nil
	}
	return p.timer.C
}

// overdue is called when the timer has gone off.
func (x *Exchange) overdue(p *progress) {
	switch p.timerFor {
	case forContinue:
		x.consent(p)
	case forHeader:
		limit := x.req.ReadLimit(x.c.opt.HeaderTimeout)
		x.cancel(wire.EndTimeout, &wire.TimeoutError{What: wire.WhatHeader, After: limit})
	}
}

// consent lets a body go that has waited for the peer's word.
func (x *Exchange) consent(p *progress) {
	if p.timerFor == forContinue {
		p.stop()
		p.timerFor = forNothingMore
	}
	c := x.c
	c.mu.Lock()
	if x.gated && x.err == nil && x.state == stateOpen {
		x.gated = false
		if x.small != nil {
			c.offerLocked(x, x.small, true)
			x.small = nil
		}
		if x.up != nil {
			x.up.begin()
		}
	}
	c.writeAndUnlock()
}
