package bench

import (
	"slices"
	"testing"
	"time"
)

// TestRequestsAreMade checks that a run without a Duration ends with its last request.
func TestRequestsAreMade(t *testing.T) {
	o := Options{Scenarios: []string{"keepalive"}, Protos: []string{"h1"}, Clients: []Client{Connwise()}, Requests: 3001}
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := rep.Results[0]
	if r.Requests != 3001 || r.Failed != 0 || r.Wrong() != "" {
		t.Errorf("%d requests, %d failed, %q; first: %s", r.Requests, r.Failed, r.Wrong(), r.FirstError)
	}
	if least := r.Requests / perConn; *r.Dials < least {
		t.Errorf("%d dials, want at least %d", *r.Dials, least)
	}
	for _, tt := range []struct {
		o    Options
		want time.Duration
	}{
		{Options{Requests: 5}, untilMade},
		{Options{Requests: 5, Duration: time.Second}, time.Second},
		{Options{Requests: 5, Target: "http://127.0.0.1:1"}, 2 * time.Second}, // nobody's server is loaded for an hour
	} {
		p, err := tt.o.plan()
		if err != nil || p.Duration != tt.want {
			t.Errorf("%+v: duration %v, %v; want %v", tt.o, p.Duration, err, tt.want)
		}
	}
}

// TestMidflightFailsWhatItMust: one POST in 25 is executed and cut, which has to fail. As many
// fail, and so no GET.
func TestMidflightFailsWhatItMust(t *testing.T) {
	o := Options{Scenarios: []string{"midflight"}, Clients: []Client{Connwise()}, Requests: 800, Rounds: 1, Workers: 4}
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		if want := r.Requests * 3 / 4 / cutEvery; r.Failed != want || r.Wrong() != "" {
			t.Errorf("%s: %d failed, want %d; %s; first: %s", r.Key(), r.Failed, want, r.Wrong(), r.FirstError)
		}
	}
}

func TestWrong(t *testing.T) {
	r := Result{ExecutedTwice: new(int64(0)), Lost: new(int64(0)), Avoidable: new(int64(0)), TimersLate: new(3.5)}
	if got := r.Wrong(); got != "" {
		t.Errorf("nothing is wrong, and it says %q", got)
	}
	r.Avoidable, r.ExecutedTwice, r.Lost, r.Damaged = new(int64(1)), new(int64(2)), new(int64(3)), new(int64(4))
	if got, want := r.Wrong(), "2 executed twice, 3 lost, 1 failed avoidably, 4 damaged, timers up to 3.5 ms late"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Result{}).Wrong(); got != "" {
		t.Errorf("nobody counted, and it says %q", got)
	}
}

func TestTimelineOfALongRound(t *testing.T) {
	start := time.Now()
	rec := newRecorder(start, untilMade)
	const last = 1300 * longestBin
	for at := time.Duration(0); at <= last; at += longestBin {
		rec.done[rec.binOf(start.Add(at))].Add(1)
	}
	rec.failed[rec.binOf(start.Add(last))].Add(5)
	rec.done[rec.binOf(start.Add(2*untilMade))].Add(0) // has a place
	tl := rec.timeline([]time.Time{start, start.Add(last)})
	tl.shorten()
	sum := int64(0)
	for _, n := range tl.Done {
		sum += n
	}
	end := len(tl.Done) - 1
	if sum != 1301 || len(tl.Done) > timelineBins || tl.BinMillis != 400 || end != 1300/4 {
		t.Errorf("%d in %d stretches of %v ms", sum, len(tl.Done), tl.BinMillis)
	}
	if tl.Failed[end] != 5 || tl.Dials[0] != 1 || tl.Dials[end] != 1 || len(tl.Failed) != len(tl.Done) || len(tl.Dials) != len(tl.Done) {
		t.Errorf("failed %v, dials %v", tl.Failed, tl.Dials)
	}
}

func TestMixedMethods(t *testing.T) {
	var got []string
	for n := range 4 {
		got = append(got, mixedMethod(n))
	}
	if want := []string{"POST", "POST", "POST", "GET"}; !slices.Equal(got, want) {
		t.Errorf("methods %v", got)
	}
}
