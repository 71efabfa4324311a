package bench

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Sample is what one round of a row measured, so that noise can be told from change.
type Sample struct {
	Requests         int64    `json:"requests"`
	Failed           int64    `json:"failed"`
	RPS              float64  `json:"rps"`
	CPUPerRequest    *float64 `json:"cpu_us_per_request"`
	AllocsPerRequest float64  `json:"allocs_per_request"`
	P50              *float64 `json:"p50_us"`
	P99              *float64 `json:"p99_us"`
	// WaveP99 is Result.WaveP99 of this round. Avoidable to Dials come from the peer's record,
	// and are nil with a target.
	WaveP99       *float64 `json:"wave_p99_us,omitempty"`
	Avoidable     *int64   `json:"avoidable"`
	ExecutedTwice *int64   `json:"executed_twice"`
	Lost          *int64   `json:"lost"`
	Dials         *int64   `json:"dials"`
	MiBPerS       *float64 `json:"mib_per_s,omitempty"` // see Result
	// These are what Result's are the most or the mean of.
	PeakGoroutines *int64   `json:"peak_goroutines"`
	PeakFDs        *int64   `json:"peak_fds"`
	PeakRSS        *int64   `json:"peak_rss_growth_bytes"`
	Syscalls       *float64 `json:"reads_writes_per_request"`
}

func sampleOf(r *rig, latency *hdrhistogram.Histogram) Sample {
	s := Sample{
		Requests: int64(r.ids.total()), Failed: int64(len(r.failed)),
		P50: micros(latency, 50), P99: micros(latency, 99),
		WaveP99: median(r.waves, func(w wave) *float64 { return w.p99 }),
	}
	s.RPS, s.CPUPerRequest, s.AllocsPerRequest = r.used.perRequest()
	s.MiBPerS, _ = r.used.perMiB()
	r.used.setPeaks(&s.PeakGoroutines, &s.PeakFDs, &s.PeakRSS, &s.Syscalls)
	return s
}

// setRecord adds what the peer's record of the round says; of dials if they were seen.
func (s *Sample) setRecord(j record, dials bool) {
	s.Avoidable, s.ExecutedTwice, s.Lost = &j.avoidable, &j.twice, &j.lost
	if dials {
		s.Dials = &j.dials
	}
}

// A Percentile says that so many percent of the calls took at most so long.
type Percentile struct {
	Percent float64 `json:"percent"`
	Micros  float64 `json:"us"`
}

// plotted are the percentiles that a Result has, for plots.
var plotted = []float64{0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 100}

func percentiles(h *hdrhistogram.Histogram) []Percentile {
	if h.TotalCount() == 0 {
		return nil
	}
	list := make([]Percentile, len(plotted))
	for i, p := range plotted {
		list[i] = Percentile{p, *micros(h, p)}
	}
	return list
}

// A Ratio is how a client's figure compares with another's, round by round: the median of
// the quotients, and the least and the greatest.
type Ratio struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// cpuRatio compares the CPU time per request of a client's rounds with another's in the same
// rounds; nil where there is none.
func cpuRatio(of, to []Sample) *Ratio {
	var qs []float64
	for i := range min(len(of), len(to)) {
		if a, b := of[i].CPUPerRequest, to[i].CPUPerRequest; a != nil && b != nil && *b > 0 {
			qs = append(qs, *a / *b)
		}
	}
	if len(qs) == 0 {
		return nil
	}
	slices.Sort(qs)
	middle := (qs[(len(qs)-1)/2] + qs[len(qs)/2]) / 2
	return &Ratio{round(middle, 3), round(qs[0], 3), round(qs[len(qs)-1], 3)}
}

// compareCPU sets the results' CPURatio: to net/http's, or the last one's.
func compareCPU(results []Result) {
	ref := slices.IndexFunc(results, func(r Result) bool { return r.Client == NetHTTP().Name })
	if ref < 0 {
		ref = len(results) - 1
	}
	for i := range results {
		if i != ref {
			if q := cpuRatio(results[i].Samples, results[ref].Samples); q != nil {
				results[i].CPURatio, results[i].CPURatioTo = q, results[ref].Client
			}
		}
	}
}
