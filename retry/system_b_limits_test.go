package retry_test

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// hurry is what a busy machine may add to a time that is tested from above.
const hurry = 3 * time.Second

// gaps makes n calls at once whose first attempt is lost, and returns the time from there to
// the second, as the origins see it, and the wait that was chosen.
func gaps(t *testing.T, policy retry.Policy, n int) (all, waits []time.Duration) {
	t.Helper()
	all, waits = make([]time.Duration, n), make([]time.Duration, n)
	var wg sync.WaitGroup
	for i := range all {
		o := newOrigin(t, true, []string{cutFIN})
		r := newRig(t, policy, nil, nil)
		wg.Go(func() {
			res := r.do("GET", o.url(), nil)
			r.wantOK(res, 1)
			if at := o.times(); len(at) == 2 && len(res.report.Attempts) == 2 {
				all[i], waits[i] = at[1].Sub(at[0]), res.report.Attempts[0].Wait
			}
		})
	}
	wg.Wait()
	return all, waits
}

// TestB4_OneRetry: after 100 ms to 200 ms, and callers that failed together don't come back
// together.
func TestB4_OneRetry(t *testing.T) {
	all, waits := gaps(t, retry.Once(), 12)
	if least, most := slices.Min(all), slices.Max(all); least < 100*time.Millisecond || most > 200*time.Millisecond+hurry {
		t.Errorf("the second attempts came after %v to %v, want 100 ms to 200 ms", least, most)
	}
	least, most := slices.Min(waits), slices.Max(waits)
	if least < 100*time.Millisecond || most > 200*time.Millisecond || most-least < 5*time.Millisecond { // the odds are 1 to 10^13
		t.Errorf("the waits are %v, want 100 ms to 200 ms at random", waits)
	}
	for _, w := range []way{unsentWays[0], sentWays[0]} { // and there's no third
		o, r := w.start(t, quick(retry.Once()), 2)
		res := r.do("GET", o.url(), nil)
		w.wantError(t, w.name, res.err)
		r.wantRetries(res, 1)
	}
}

// TestB4_Settings: the count and the interval are settings, read when the first request is made,
// and not again. No retries is a count too: a negative one, as zero is the default.
func TestB4_Settings(t *testing.T) {
	slow := retry.Once()
	slow.Interval, slow.Spread = 300*time.Millisecond, -1
	if all, _ := gaps(t, slow, 1); all[0] < 300*time.Millisecond || all[0] > 300*time.Millisecond+hurry {
		t.Errorf("the second attempt came after %v, want 300 ms", all[0])
	}
	for _, retries := range []int{-1, 1, 3} {
		policy := quick(retry.Once())
		policy.MaxRetries = retries
		w, want := unsentWays[8], max(retries, 0) // resets in the handshake
		o, r := w.start(t, policy, 8)
		r.wantRetries(r.do("POST", o.url(), nil), want)
		r.retry.Policy.MaxRetries = 5
		r.wantRetries(r.do("POST", o.url(), nil), want)
		if n := o.accepted(); n != 2*(want+1) {
			t.Errorf("with %d retries: %d attempts in two calls, want %d", retries, n, 2*(want+1))
		}
	}
}

// TestB7_WorstCase: each phase has a budget of its own, and in each a call's worst case is two
// attempts' budgets plus the interval, whichever it is that takes too long.
func TestB7_WorstCase(t *testing.T) {
	const budget = 250 * time.Millisecond
	upload := make([]byte, 16<<20)
	for _, tt := range []struct {
		name  string
		act   string
		limit func(*pool.Config)
		verb  string
		body  []byte
	}{
		{"connect, TLS included", hsSilence, func(c *pool.Config) { c.Base.TLSHandshakeTimeout = budget }, "POST", nil},
		{"write", stall, func(c *pool.Config) { c.WriteStallTimeout = budget }, "GET", upload},
		{"read", never, func(c *pool.Config) { c.Base.ResponseHeaderTimeout = budget }, "GET", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t, true, []string{tt.act}, []string{tt.act}, []string{tt.act})
			policy := retry.Once()
			r := newRig(t, policy, nil, func(_ *rig, cfg *pool.Config) { tt.limit(cfg) })
			var body io.Reader
			if tt.body != nil {
				body = bytes.NewReader(tt.body)
			}
			start := time.Now()
			res := r.do(tt.verb, o.url(), body)
			took := time.Since(start)
			r.wantRetries(res, 1)
			if least, most := 2*budget+100*time.Millisecond, policy.WorstCase(budget)+hurry; took < least || took > most {
				t.Errorf("took %v, want %v to %v", took, least, most)
			}
			if n := o.accepted(); n != 2 {
				t.Errorf("%d attempts, want 2", n)
			}
		})
	}
}

// TestB7_Stated: with a second to connect, three to write and five to read.
func TestB7_Stated(t *testing.T) {
	policy := retry.Once()
	if got := policy.WorstCase((1 + 3 + 5) * time.Second); got != 18200*time.Millisecond {
		t.Errorf("the worst case is %v, want two attempts' budgets and 200 ms", got)
	}
}

// TestB7_NoBudgetIsForAllPhases: an attempt that has used up most of one phase's budget has the
// whole of the next one's. Only the request's own deadline is for all of them.
func TestB7_NoBudgetIsForAllPhases(t *testing.T) {
	o := newOrigin(t, true, []string{slowly}, []string{slowly})
	policy := retry.Once()
	r := newRig(t, policy, nil, func(_ *rig, cfg *pool.Config) {
		cfg.Base.TLSHandshakeTimeout, cfg.Base.ResponseHeaderTimeout = 2*slowness, 2*slowness
	})
	start := time.Now()
	r.wantOK(r.do("GET", o.url(), nil), 0)
	if took := time.Since(start); took < 2*slowness {
		t.Errorf("took %v: the origin takes %v in each of two phases", took, slowness)
	}
	if n := len(o.requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}
