package bench

import (
	"net/http"
	"testing"
	"time"
)

// TestBurstWarmCountsWhoWaitsForADial compares a client that has connections ready for
// more requests than there are with one that has none at any time. Both have what they
// need before the first call is due.
func TestBurstWarmCountsWhoWaitsForADial(t *testing.T) {
	const (
		calls = 3 + 10 // in 250 ms: at 0, 100 and 200 ms, and the burst
		ready = 10 + 16
	)
	none := func(rt http.RoundTripper) func(*http.Request) (*http.Response, error) { return rt.RoundTrip }
	o := smoke()
	o.Scenarios, o.Protos, o.Rate, o.Burst = []string{"burst-warm"}, []string{"h1", "h1s"}, 10, 10
	o.Clients = []Client{Connwise(), NetHTTP(), wrapped("none", none)}
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		name := r.Proto + " " + r.Client
		if r.Failed != 0 || *r.Lost != 0 {
			t.Errorf("%s: %d failed, %d lost: %s", name, r.Failed, *r.Lost, r.FirstError)
		}
		switch {
		case r.Client == "connwise" && (r.Requests != calls || *r.Dialled != 0 || *r.Dials < ready):
			t.Errorf("%s: %d requests, %d of them with a new connection, %d connections; want %d, 0, %d at least", name, r.Requests, *r.Dialled, *r.Dials, calls, ready)
		case r.Client == "net/http" && r.Requests != ready+calls:
			t.Errorf("%s: %d requests, want %d to warm up and %d", name, r.Requests, ready, calls)
		case r.Client == "none" && (*r.Dialled != calls || *r.Dials != ready+calls):
			t.Errorf("%s: %d calls with a new connection, %d connections; want %d and %d", name, *r.Dialled, *r.Dials, calls, ready+calls)
		}
	}
}

// TestBurstWarmKeepsToTheRate checks that pacing neither loses nor adds calls, and that
// a round doesn't end before its time.
func TestBurstWarmKeepsToTheRate(t *testing.T) {
	o := smoke()
	o.Scenarios, o.Protos, o.Clients = []string{"burst-warm"}, []string{"h2c"}, []Client{Connwise()}
	o.Rate, o.Burst, o.Duration, o.Rounds = 500, 40, time.Second, 2
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// Two rounds of half a second, each with a burst in its middle.
	if r := rep.Results[0]; r.Requests != 500+2*40 || r.RPS > 600 {
		t.Errorf("%d requests, %v in a second; want 580 in one", r.Requests, r.RPS)
	}
}
