package retry_test

import (
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// TestB5_LongRead: a call that asks for a longer read timeout than the client has isn't sent
// again when it may have been processed, be that after its timeout or otherwise: its worst case
// isn't doubled. What was never sent still is, and a call that asks for less is like any other.
func TestB5_LongRead(t *testing.T) {
	const usual, less, long = limit, limit * 3 / 5, 2 * limit
	lost, refusedDial, tooLate := sentWays[0], unsentWays[0], way{phase: pool.PhaseSent, timeout: true, act: never}
	for _, tt := range []struct {
		name  string
		way   way
		verb  string
		read  time.Duration
		again bool
		least time.Duration // of a call that isn't answered
	}{
		{"timeout", tooLate, "GET", long, false, long},
		{"timeout, HEAD", tooLate, "HEAD", long, false, long},
		{"timeout of usual length", tooLate, "GET", usual, true, 0},
		{"timeout of less", tooLate, "GET", less, true, 0},
		{"nothing asked for", tooLate, "GET", 0, true, 0},
		{"lost", lost, "GET", long, false, 0},
		{"lost, without any limit", lost, "GET", -1, false, 0},
		{"lost, with less", lost, "GET", less, true, 0},
		{"lost, POST", lost, "POST", long, false, 0},
		{"never sent", refusedDial, "GET", long, true, 0},
		{"never sent, POST", refusedDial, "POST", long, true, 0},
		{"never sent, without any limit", refusedDial, "POST", -1, true, 0},
		{"reset in the handshake", unsentWays[8], "DELETE", long, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.way.change = func(_ *rig, cfg *pool.Config) { cfg.Base.ResponseHeaderTimeout = usual }
			o, r := tt.way.start(t, quick(retry.Once()), 1)
			req := r.request(tt.verb, o.url(), payloadFor(tt.verb))
			req = req.WithContext(pool.WithReadTimeout(req.Context(), tt.read))
			start := time.Now()
			res := r.send(req)
			took := time.Since(start)
			if tt.again {
				r.wantOK(res, 1)
				return
			}
			tt.way.wantError(t, tt.name, res.err)
			r.wantRetries(res, 0)
			if n := len(o.requests()); n != 1 {
				t.Errorf("the server saw %d requests", n)
			}
			if took < tt.least || took > tt.least+hurry {
				t.Errorf("took %v, want %v", took, tt.least)
			}
		})
	}
}

// TestB5_ByTheCallAlone: the next call has the client's own limit again, and its retries.
func TestB5_ByTheCallAlone(t *testing.T) {
	o := newOrigin(t, true, []string{cutFIN}, []string{serve, cutFIN})
	r := newRig(t, quick(retry.Once()), nil, answerLimit)
	req := r.request("GET", o.url(), payloads()[0])
	res := r.send(req.WithContext(pool.WithReadTimeout(req.Context(), time.Minute)))
	sentWays[0].wantError(t, "the long call", res.err)
	r.wantOK(r.do("GET", o.url(), nil), 0)
	r.wantOK(r.do("GET", o.url(), nil), 1)
}
