package retry_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// mayRepeat says which verbs a preset repeats when they may have run.
var mayRepeat = map[string][]string{
	"default":        {"GET", "HEAD", "OPTIONS"},
	"never-timeouts": {"GET", "HEAD", "OPTIONS"},
	"once":           {"GET", "HEAD"},
}

// TestA3_B2_MaybeSent: the origin has the request, and no answer came. Safe verbs are repeated,
// and the origin sees them twice. The others it sees once, and their callers get the error. A
// timeout is no exception under Once, and is final under the others.
func TestA3_B2_MaybeSent(t *testing.T) {
	for _, w := range sentWays {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			w.each(systems, func(preset, verb string) { maybeSent(t, w, preset, verb) })
		})
	}
}

func maybeSent(t *testing.T, w way, preset, verb string) {
	t.Helper()
	policy, _ := retry.Named(preset)
	o, r := w.start(t, quick(policy), 1)
	p := payloadFor(verb)
	res := r.sendPayload(o.url(), p)
	if slices.Contains(mayRepeat[preset], verb) && (!w.timeout || preset == "once") {
		r.wantOK(res, 1)
		o.wantSeen(p.seen(), p.seen())
		w.wantError(t, preset+" "+verb, errors.Join(res.report.Errors...))
		return
	}
	w.wantError(t, preset+" "+verb, res.err)
	r.wantRetries(res, 0)
	o.wantSeen(p.seen())
}

// TestB2_WriteTimeout: the origin takes the head and some of the body, and then nothing for so
// long that the client gives up. It may have acted on what it took.
func TestB2_WriteTimeout(t *testing.T) {
	for _, verb := range []string{"GET", "POST", "PUT"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			w := way{phase: pool.PhaseSending, timeout: true, act: stall, change: writeLimit}
			o, r := w.start(t, quick(retry.Once()), 1)
			upload := make([]byte, 16<<20) // more than the sockets' buffers take
			res := r.do(verb, o.url(), bytes.NewReader(upload))
			if verb == "GET" {
				r.wantOK(res, 1)
				o.wantSeen(seen{method: verb, body: string(upload)})
				w.wantError(t, verb, errors.Join(res.report.Errors...))
				return
			}
			w.wantError(t, verb, res.err)
			r.wantRetries(res, 0)
			o.wantSeen()
		})
	}
}

// TestB6_OnlyAnOptIn: that a write is idempotent by contract isn't known to anybody until the
// caller says so. NeverTimeouts takes the per-call option, but no header.
func TestB6_OnlyAnOptIn(t *testing.T) {
	headers := []string{"Idempotency-Key", "X-Idempotency-Key"}
	for _, name := range []string{"default", "once", "never-timeouts"} {
		policy, _ := retry.Named(name)
		for _, verb := range []string{"PUT", "DELETE", "POST", "PATCH"} {
			check := func(opt string, twice bool, headers ...string) {
				w := sentWays[0]
				o, r := w.start(t, quick(policy), 1)
				p := payloadFor(verb)
				req := r.request(verb, o.url(), p, headers...)
				if opt == "call" {
					req = req.WithContext(retry.WithIdempotent(req.Context()))
				}
				res := r.send(req)
				if twice {
					r.wantOK(res, 1)
					o.wantSeen(p.seen(), p.seen())
					return
				}
				w.wantError(t, name+" "+verb+" "+opt, res.err)
				r.wantRetries(res, 0)
				o.wantSeen(p.seen())
			}
			check("none", false)
			check("call", true)
			for _, h := range headers {
				check(h, name != "never-timeouts", h, "key")
			}
		}
	}
}
