package benchhtml

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/connwise/bench"
)

// TestAnyReport holds that a page comes of whatever a report may have.
func TestAnyReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rep := anyReport(t)
		d := pageOf(t, rep)
		for _, svg := range d.all("svg") {
			for n := range svg.Descendants() {
				for _, a := range n.Attr {
					if strings.Contains(a.Val, "NaN") || strings.Contains(a.Val, "Inf") {
						t.Fatalf("<%s %s=%q>", n.Data, a.Key, a.Val)
					}
				}
			}
		}
		rows := 0
		for _, table := range d.all("table") {
			if table.attr("class") == "all" {
				for _, th := range table.all("th") {
					if th.attr("scope") == "row" {
						rows++
					}
				}
			}
		}
		if rows != len(rep.Results) {
			t.Fatalf("the table has %d rows, the report %d", rows, len(rep.Results))
		}
	})
}

func anyReport(t *rapid.T) bench.Report {
	value := rapid.SampledFrom([]float64{0, 0.05, 1, 3, 99.99, 12345, 1e12, -3, 1e308, 5e-324})
	counted := rapid.SampledFrom([]int64{0, 1, 7, 1000, 1 << 62, -1})
	maybe := func() *float64 {
		if rapid.Bool().Draw(t, "nil") {
			return nil
		}
		return new(value.Draw(t, "value"))
	}
	some := func() *int64 {
		if rapid.Bool().Draw(t, "nil") {
			return nil
		}
		return new(counted.Draw(t, "count"))
	}
	var rep bench.Report
	for range rapid.IntRange(0, 3).Draw(t, "rows") {
		r := bench.Result{
			Scenario: rapid.SampledFrom([]string{"steady", "hosts", ""}).Draw(t, "scenario"), Proto: rapid.SampledFrom([]string{"h1", "h2"}).Draw(t, "proto"),
			Client: rapid.SampledFrom([]string{"connwise", "net/http", "floor"}).Draw(t, "client"), Size: some(), Requests: counted.Draw(t, "requests"),
			Avoidable: some(), CPUPerRequest: maybe(), P50: maybe(), P99: maybe(), RPS: value.Draw(t, "rps"), PeakRSS: some(), WaveP99: maybe(),
		}
		for range rapid.IntRange(0, 4).Draw(t, "percentiles") {
			r.Percentiles = append(r.Percentiles, bench.Percentile{Percent: rapid.SampledFrom([]float64{-1, 0, 50, 99.99, 100, 101}).Draw(t, "percent"), Micros: value.Draw(t, "us")})
		}
		for range rapid.IntRange(0, 3).Draw(t, "rounds") {
			r.Samples = append(r.Samples, bench.Sample{CPUPerRequest: maybe()})
		}
		if rapid.Bool().Draw(t, "timeline") {
			r.Timeline = &bench.Timeline{BinMillis: value.Draw(t, "bin"), Done: rapid.SliceOfN(counted, 0, 5).Draw(t, "done"), Failed: rapid.SliceOfN(counted, 0, 5).Draw(t, "failed"), Dials: rapid.SliceOfN(counted, 0, 5).Draw(t, "dials")}
		}
		if rapid.Bool().Draw(t, "ratio") {
			r.CPURatio = &bench.Ratio{Median: value.Draw(t, "median"), Low: 0, High: 1e300}
		}
		rep.Results = append(rep.Results, r)
	}
	return rep
}
