package h1

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"time"

	"example.com/connwise/internal/wire"

	"golang.org/x/net/http/httpguts"
)

const (
	defaultMaxHeader = 10 << 20
)

// A source is what an exchange's buffered reader reads: the connection, with the
// limits of the part of the answer that is being read.
type source Exchange

// Read reads from the connection. Only the holder of the reading side calls it.
func (s *source) Read(p []byte) (int, error) {
	x := (*Exchange)(s)
	if x.readErr != nil {
		// The first one counts. The kernel tells of a reset once, and of an EOF from then
		// on; and the parser looks ahead without telling what it met.
		return 0, x.readErr
	}
	if x.budget == 0 {
		x.readErr = &wire.HeaderLimitError{Limit: x.c.opt.maxHeader()}
		return 0, x.readErr
	}
	if x.budget > 0 {
		p = p[:min(int64(len(p)), x.budget)]
	}
	stall := x.req.ReadLimit(x.c.opt.ReadStall)
	if !x.inBody {
		stall = 0
	}
	if stall > 0 {
		x.mu.Lock()
		x.timeoutLocked(&x.alarmsLocked().rstall, stall, wire.WhatReadStall)
		x.mu.Unlock()
	}
	n, err := x.readConn(p)
	n = max(0, min(n, len(p)))
	if stall > 0 {
		x.mu.Lock()
		x.alarms.rstall.offLocked()
		x.mu.Unlock()
	}
	if n > 0 {
		x.received(n)
	}
	if err != nil && err != errNotSent {
		x.readErr = err
	}
	return n, err
}

// readConn reads from the connection, behind the request if that is to go out with it.
func (x *Exchange) readConn(p []byte) (int, error) {
	if x.merged != nil {
		return x.merged.begin(p)
	}
	return x.c.nc.Read(p)
}

// openReader makes ready for the answer's head.
func (x *Exchange) openReader() {
	x.budget = x.c.opt.maxHeader()
	x.br = getReader((*source)(x), x.c.opt.ReadBufferSize)
}

func (x *Exchange) received(n int) {
	x.lastRead = time.Now()
	if x.budget > 0 {
		x.budget -= int64(n)
	}
	if x.facts.Answered { // only the reading side writes it
		return
	}
	x.mu.Lock()
	x.facts.Answered = true
	x.mu.Unlock()
}

func (o *Options) maxHeader() int64 {
	if o.MaxHeaderBytes > 0 {
		return o.MaxHeaderBytes
	}
	return defaultMaxHeader
}

// answer reads the final answer's head.
func (x *Exchange) answer() (*http.Response, error) {
	if x.br == nil {
		x.openReader()
	}
	if _, err := x.br.Peek(1); err != nil {
		return nil, err
	}
	if x.trace != nil && x.trace.GotFirstResponseByte != nil {
		x.trace.GotFirstResponseByte()
	}
	undelivered := 0
	for {
		resp := x.usual()
		if resp == nil {
			var err error
			if resp, err = http.ReadResponse(x.br, x.req.Request); err != nil {
				return nil, x.headError(err)
			}
		}
		if resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			if resp.StatusCode == http.StatusExpectationFailed && x.expects && addsExpect(&x.req, x.frame) {
				return nil, wire.ErrExpectationFailed
			}
			x.gotHead(resp)
			return resp, nil
		}
		delivered, err := x.interim(resp)
		if err != nil {
			return nil, err
		}
		if delivered {
			undelivered = 0
			x.budget = x.c.opt.maxHeader() // what the caller looks at is the caller's to limit
		} else if undelivered++; undelivered > wire.MaxInterim {
			return nil, &wire.InterimLimitError{Limit: wire.MaxInterim}
		}
	}
}

// interim handles an interim answer and reports whether a hook took it.
func (x *Exchange) interim(resp *http.Response) (delivered bool, err error) {
	if resp.StatusCode == http.StatusContinue && x.expects {
		x.expects = false
		if x.trace != nil && x.trace.Got100Continue != nil {
			x.trace.Got100Continue()
		}
		x.admit(true, false)
	}
	if x.trace == nil || x.trace.Got1xxResponse == nil {
		return false, nil
	}
	if err := x.trace.Got1xxResponse(resp.StatusCode, textproto.MIMEHeader(resp.Header)); err != nil {
		return true, &wire.HookError{Err: err}
	}
	return true, nil
}

// gotHead notes what the final answer's head says.
func (x *Exchange) gotHead(resp *http.Response) {
	x.budget = -1
	keep := !resp.Close && !x.req.SaysClose() && resp.StatusCode >= 200 &&
		resp.ProtoMajor == 1 && x.frame.by != unbounded
	x.mu.Lock()
	x.headDone, x.keep = true, keep
	if x.alarms != nil {
		x.alarms.head.offLocked()
	}
	x.mu.Unlock()
	if x.expects {
		// The peer reads on as if the body came (RFC 9110 section 10.1.1): it has to,
		// unless the connection ends here.
		x.expects = false
		x.admit(!resp.Close && !x.req.SaysClose(), true)
	}
}

// headError tells the parser's complaints from the connection's.
func (x *Exchange) headError(err error) error {
	switch {
	case x.readErr == nil:
		return &wire.AnswerError{Err: err}
	case x.readErr != io.EOF:
		return x.readErr
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	}
	// What came was cut, and may be no HTTP at all: the text shows it.
	return &wire.AnswerError{Err: fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)}
}

// switchesProtocol reports whether resp hands the connection over (RFC 9110 section 7.8).
func switchesProtocol(resp *http.Response) bool {
	return resp.StatusCode == http.StatusSwitchingProtocols && resp.Header.Get("Upgrade") != "" &&
		httpguts.HeaderValuesContainsToken(resp.Header["Connection"], "Upgrade")
}
