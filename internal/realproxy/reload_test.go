//go:build proxies && unix

package realproxy

import (
	"errors"
	"slices"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
)

const (
	reloads     = 6
	reloadEvery = time.Second

	retriesTake = 100 * time.Millisecond // at least, until retry.Default gives up
)

// A reload closes idle connections at a moment that no client can know. A GET that crosses
// it is sent again. A POST isn't over HTTP/1.1: its error says that it may have been executed.
// If the body waits for the proxy's sign of life, it can be sent again, and no POST fails.
// Over HTTP/2 a GOAWAY tells what was taken, and no POST fails, unless the proxy cuts those
// that it has taken.
func TestReloadSparesGETsAndSendsNoPOSTTwice(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRig(t, v, shortIdle)
		m := r.disturb(t, r.reloadOften)
		for _, gets := range []outcome{m.get, m.sureGET} {
			lost := slices.DeleteFunc(gets.failures(), func(a attempt) bool { return v.kind.CutsReload && (a.gaveUp() || a.brokeOff()) })
			// A proxy that gives up all connections at once can close each on which a GET is sent
			// again. That is rare.
			if len(lost) > gets.requests/fewGETs {
				t.Errorf("%s: %d of %d failed: %s", gets.client, len(lost), gets.requests, gets.kinds())
			}
		}
		if !v.kind.CutsReload {
			m.sure.wantClean(t)
		}
		if v.proto == frontproxy.H2 && !v.kind.CutsReload {
			m.post.wantClean(t)
		}
		m.post.wantMayHaveRun(t, m.executed)
	}, mostHTTP1(), overHTTP2(reloadKinds...))
}

// fewGETs is of how many one may fail.
const fewGETs = 300

func (r *rig) reloadOften() error { return r.reloadTimes(reloads) }

// reloadTimes reloads n times, once every reloadEvery.
func (r *rig) reloadTimes(n int) error {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for range n {
		<-tick.C
		if err := r.front.Reload(); err != nil {
			return err
		}
	}
	<-tick.C // old workers end under load
	return nil
}

// gaveUp tells whether a request failed though it may be sent again, and was: each time it
// met a proxy that takes none just then.
func (a attempt) gaveUp() bool {
	e, ok := errors.AsType[*pool.Error](a.err)
	return ok && e.Phase.Unprocessed() && a.end.Sub(a.begin) >= retriesTake
}

// brokeOff tells whether the answer ended in its middle, which nobody can make good: its head is
// the caller's by then.
func (a attempt) brokeOff() bool {
	e, ok := errors.AsType[*pool.Error](a.err)
	return ok && e.Phase == pool.PhaseResponse
}

// wantMayHaveRun checks that each failure is a *pool.Error of a phase in which a byte of
// the request had left; PhaseResponse is an answer that broke off. In an earlier phase retry
// has sent it again, as often as its policy says: such a request must not have been executed.
func (o outcome) wantMayHaveRun(t *testing.T, executed peer.Executions) {
	t.Helper()
	for _, a := range o.failures() {
		e, ok := errors.AsType[*pool.Error](a.err)
		if !ok {
			t.Errorf("%s: %s %d: %T, want a *pool.Error: %v", o.client, a.method, a.id, a.err, a.err)
			continue
		}
		switch e.Phase {
		case pool.PhaseSending, pool.PhaseSent, pool.PhaseResponse:
			if e.Sent == 0 {
				t.Errorf("%s: %s %d: phase %v with no byte sent: %v", o.client, a.method, a.id, e.Phase, a.err)
			}
		default:
			if !a.gaveUp() || executed.Count(a.id) > 0 {
				t.Errorf("%s: %s %d, after %v: phase %v, executed %d times: %v",
					o.client, a.method, a.id, a.end.Sub(a.begin), e.Phase, executed.Count(a.id), a.err)
			}
		}
	}
}
