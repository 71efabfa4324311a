package h1

import (
	"time"

	"example.com/connwise/internal/wire"

	"golang.org/x/net/http/httpguts"
)

// This file has what "Expect: 100-continue" means for a request's body (RFC 9110 section
// 10.1.1): it waits for the peer's consent, and isn't read or sent before.

// confirmWait is how long Request.Confirm waits where Options have no ContinueTimeout.
const confirmWait = 1 * time.Second

// expectsContinue reports whether r's body awaits the peer's consent (RFC 9110 section 10.1.1).
func expectsContinue(r *wire.Request, f framing) bool {
	return f.by != noBody && (r.Confirm || r.ProtoAtLeast(1, 1) && saysExpect(r))
}

// saysExpect reports whether it's the caller who asks for the peer's consent.
func saysExpect(r *wire.Request) bool {
	return httpguts.HeaderValuesContainsToken(r.Header["Expect"], "100-continue")
}

// addsExpect reports whether the head has an expectation on top of the caller's fields.
func addsExpect(r *wire.Request, f framing) bool {
	return r.Confirm && f.by != noBody && !saysExpect(r)
}

// patience is how long the body waits for the peer's word. Zero: it doesn't.
func (x *Exchange) patience() time.Duration {
	if d := x.c.opt.ContinueTimeout; d > 0 || !x.req.Confirm {
		return d
	}
	return confirmWait
}

// consent waits until the peer wants the body, or has kept silent for long enough.
func (u *upload) consent() error {
	if u.gate == nil {
		return nil
	}
	t := time.NewTimer(u.x.patience())
	defer t.Stop()
	select {
	case ok := <-u.gate:
		if !ok {
			return errSkipped
		}
	case <-t.C:
		u.x.mu.Lock()
		u.x.facts.Unheard = true
		u.x.mu.Unlock()
	case <-u.stopc:
		return errStopped
	}
	return nil
}

// admit lets a body that awaits the peer's consent go, or not. late says that the
// final answer is there already.
func (x *Exchange) admit(ok, late bool) {
	u := x.up
	if u == nil || u.gate == nil {
		return
	}
	x.mu.Lock()
	u.late = ok && late
	x.mu.Unlock()
	u.gate <- ok
}

// commit notes that bytes of the body are about to be given to the connection. It's false if
// the upload was stopped before: then they never are.
func (u *upload) commit() bool {
	u.x.mu.Lock()
	defer u.x.mu.Unlock()
	u.x.begun = u.x.begun || !u.stop
	return !u.stop
}
