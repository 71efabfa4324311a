package bench

import "testing"

// TestSamplesSumUp holds the rounds of a row against the row itself.
func TestSamplesSumUp(t *testing.T) {
	o := smoke()
	o.Burst = 16
	o.Scenarios, o.Protos, o.Clients, o.Rounds = []string{"burst"}, []string{"h1"}, []Client{NetHTTP()}, 2
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := rep.Results[0]
	if len(r.Samples) != 2 {
		t.Fatalf("%d samples, want one for each of 2 rounds", len(r.Samples))
	}
	var sum record
	var requests, failed int64
	for _, s := range r.Samples {
		requests, failed = requests+s.Requests, failed+s.Failed
		sum.avoidable += *s.Avoidable
		sum.twice += *s.ExecutedTwice
		sum.lost += *s.Lost
		sum.dials += *s.Dials
		if s.WaveP99 == nil || *s.WaveP99 <= 0 || *s.Dials == 0 {
			t.Errorf("sample %+v: want a wave's p99 and dials", s)
		}
	}
	want := record{avoidable: *r.Avoidable, twice: *r.ExecutedTwice, lost: *r.Lost, dials: *r.Dials}
	if sum != want || requests != r.Requests || failed != r.Failed {
		t.Errorf("the samples are %+v of %d requests, %d failed; the row %+v of %d, %d", sum, requests, failed, want, r.Requests, r.Failed)
	}
}
