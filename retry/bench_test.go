package retry

import (
	"net/http"
	"strings"
	"testing"

	"example.com/connwise/pool"
)

type noop struct{ resp *http.Response }

func (n noop) RoundTrip(*http.Request) (*http.Response, error) { return n.resp, nil }

// TestA9_SuccessIsFree: a call that succeeds at once allocates nothing.
func TestA9_SuccessIsFree(t *testing.T) {
	for _, p := range []Policy{{}, NeverTimeouts(), Once(), SafeOnly(), Off()} {
		tr := &Transport{Base: noop{status(200)}, Policy: p}
		req := newRequest(t, "POST", strings.NewReader("body"))
		if n := testing.AllocsPerRun(100, func() { tr.RoundTrip(req) }); n != 0 {
			t.Errorf("%v allocations, want none", n)
		}
	}
}

// BenchmarkSuccess is what the layer adds to a call that succeeds at once; direct is the
// same call without it.
func BenchmarkSuccess(b *testing.B) {
	base := noop{status(200)}
	for _, bb := range []struct {
		name string
		rt   http.RoundTripper
	}{{"direct", base}, {"retry", &Transport{Base: base}}} {
		b.Run("by="+bb.name, func(b *testing.B) {
			req := newRequest(b, "POST", strings.NewReader("body"))
			b.ReportAllocs()
			for b.Loop() {
				bb.rt.RoundTrip(req)
			}
		})
	}
}

// BenchmarkDecide is what a failure costs before the back-off.
func BenchmarkDecide(b *testing.B) {
	req := newRequest(b, "POST", nil)
	var p Policy
	err := failed(pool.PhaseSent)
	b.ReportAllocs()
	for b.Loop() {
		o := observe(req, nil, err, trailUnknown)
		p.Decide(o)
	}
}
