package bench

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONShape(t *testing.T) {
	names := []string{
		"scenario", "proto", "client", "requests", "failed", "avoidable", "executed_twice", "lost", "dials", "wasted_dials", "peak_conns", "dialled",
		"p50_us", "p99_us", "p999_us", "waves", "wave_p50_us", "wave_p99_us", "wave_dials", "rps", "cpu_us_per_request", "allocs_per_request",
		"cpu_ratio", "peak_goroutines", "peak_fds", "peak_rss_growth_bytes", "reads_writes_per_request", "samples",
	}
	var b strings.Builder
	rep := Report{Results: []Result{{Scenario: "steady", Dials: new(int64(3)), NotOK: 1, FirstError: "x"}}}
	if err := rep.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct{ Results []map[string]any }
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	row := got.Results[0]
	for _, name := range names {
		if _, ok := row[name]; !ok {
			t.Errorf("%s is missing", name)
		}
		delete(row, name)
	}
	if len(row) != 0 {
		t.Errorf("unexpected names: %v", row)
	}
	b.Reset()
	if err := (Report{}).WriteJSON(&b); err != nil || !strings.Contains(b.String(), `"results": []`) {
		t.Errorf("an empty report is %s (%v), want an empty list", b.String(), err)
	}
}
