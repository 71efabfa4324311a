package retry_test

import (
	"errors"
	"testing"

	"example.com/connwise/retry"
)

// systems are the presets for which rules A2, A3, B1 and B2 are.
var systems = []string{"default", "never-timeouts", "once"}

// payloadFor gives each verb the payload that callers send with it.
func payloadFor(verb string) payload {
	ps := payloads()
	switch verb {
	case "POST", "PUT", "PATCH":
		p := ps[3] // a multipart upload
		p.method = verb
		return p
	case "DELETE":
		p := ps[1]
		p.method = verb
		return p
	}
	p := ps[0]
	p.method = verb
	return p
}

// TestA2_B1_NeverSent: no request was sent, so every verb is sent again, and the origin sees it
// once, whole. How the failure is spelled makes no difference. NeverTimeouts leaves time limits
// alone, and the origin sees nothing then.
func TestA2_B1_NeverSent(t *testing.T) {
	for _, w := range unsentWays {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			w.each(systems, func(preset, verb string) { neverSent(t, w, preset, verb) })
		})
	}
}

func neverSent(t *testing.T, w way, preset, verb string) {
	t.Helper()
	policy, _ := retry.Named(preset)
	o, r := w.start(t, quick(policy), 1)
	p := payloadFor(verb)
	res := r.sendPayload(o.url(), p)
	if w.timeout && preset == "never-timeouts" {
		w.wantError(t, preset+" "+verb, res.err)
		r.wantRetries(res, 0)
		o.wantSeen()
		return
	}
	r.wantOK(res, 1)
	o.wantSeen(p.seen())
	w.wantError(t, preset+" "+verb, errors.Join(res.report.Errors...))
}

// TestA2_B1_StillNot: it goes on like that. The origin sees nothing, the error is the last
// attempt's own, and its caller can tell that nothing was processed.
func TestA2_B1_StillNot(t *testing.T) {
	for _, w := range []way{unsentWays[0], unsentWays[1], unsentWays[8], unsentWays[9], unsentWays[10]} {
		for name, retries := range map[string]int{"default": 2, "once": 1, "never-timeouts": 2} {
			policy, _ := retry.Named(name)
			o, r := w.start(t, quick(policy), retries+1)
			res := r.sendPayload(o.url(), payloadFor("POST"))
			r.wantRetries(res, retries)
			w.wantError(t, w.name+" under "+name, res.err)
			for _, err := range res.report.Errors {
				w.wantError(t, w.name+" under "+name, err)
			}
			o.wantSeen()
		}
	}
}
