package bench

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestReadReport reads back what was written.
func TestReadReport(t *testing.T) {
	want := Report{
		Command: "connwise bench", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Machine: thisMachine(),
		Clients: []ClientNote{{"a", "as it comes", "example.org/a v1.2.3", "h2"}},
		Results: []Result{
			{Scenario: "hosts", Proto: "h1", Client: "a", Size: new(int64(1)), Avoidable: new(int64(0)), P99: new(2.5), Samples: []Sample{{Requests: 3, Dials: new(int64(1))}}},
			{Scenario: "hosts", Proto: "h1", Client: "a", Size: new(int64(10)), Timeline: &Timeline{BinMillis: 4, Done: []int64{1}}},
			{Scenario: "hosts", Proto: "h1", Client: "a"},
			{Scenario: "hosts", Proto: "h1", Client: "a", Proxy: "nginx"},
			{Scenario: "hosts", Proto: "h1", Client: "a", Load: "constant:5"},
		},
	}
	var b strings.Builder
	if err := want.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	got, err := ReadReport(strings.NewReader(b.String()))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}
}

func TestReadReportRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "end of JSON"},
		{"another text", "scenario proto client\n", "invalid character"},
		{"another JSON", `{"results":5}`, "cannot unmarshal"},
		{"a list", `[]`, "cannot unmarshal"},
		{"no rows", `{"machine":{}}`, "no rows"},
		{"a row of something else", `{"results":[{"name":"x"}]}`, "row 1 lacks its scenario"},
		{"the same row twice", `{"results":[{"scenario":"steady","proto":"h1","client":"a"},{"scenario":"steady","proto":"h1","client":"a"}]}`, "row 2 is there twice: steady h1 a"},
		{"more rounds than there can be", `{"results":[{"scenario":"s","proto":"h1","client":"a","samples":[` + strings.Repeat("{},", mostSamples) + `{}]}]}`, "row 1 has 101 rounds"},
		{"two reports", `{"results":[{"scenario":"s","proto":"h1","client":"a"}]}{"results":[]}`, "after top-level value"},
		{"too much", strings.Repeat(" ", mostReport+1), "longer than 64 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadReport(strings.NewReader(tt.text))
			if err == nil || !strings.HasPrefix(err.Error(), "bench: not a report: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// FuzzReadReport holds that whatever is read can be written, and is read the same again.
func FuzzReadReport(f *testing.F) {
	f.Add(`{"results":[{"scenario":"hosts","proto":"h1","client":"a","size":10,"p99_us":1.5,"samples":[{"requests":3}]}]}`)
	f.Add(`{"started":"2026-01-02T03:04:05Z","results":[{"scenario":"s","proto":"h1","client":"a","timeline":{"bin_ms":4,"done":[1,2]}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		rep, err := ReadReport(strings.NewReader(text))
		if err != nil {
			return
		}
		var b strings.Builder
		if err := rep.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		again, err := ReadReport(strings.NewReader(b.String()))
		if err != nil || len(again.Results) != len(rep.Results) || again.Results[0].Key() != rep.Results[0].Key() {
			t.Errorf("read again: %+v (%v), want %+v", again, err, rep)
		}
	})
}
