package bench

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"example.com/connwise/internal/peer"
)

// A tally sums the rounds of one row.
type tally struct {
	requests, failed, notOK int64
	unmade, violations      int64
	record                  *record // nil with a target
	used                    usage
	latency                 *hdrhistogram.Histogram
	first                   error
	waves                   []wave
	dialled                 *int64 // nil: not counted
	timeline                *Timeline
	late                    time.Duration
	cancelled, overtaken    *int64 // nil: none of that kind
	damaged, leftOpen       *int64
	delay                   time.Duration // with overtaken
	samples                 []Sample
}

// A record is what the peer's oracle says about a row.
type record struct{ avoidable, twice, lost, dials, wasted, peak int64 }

// add takes a round; rep is nil with a target.
func (t *tally) add(r *rig, rep *peer.Report) {
	latency := r.latency.sum()
	t.samples = append(t.samples, sampleOf(r, latency))
	t.requests += int64(r.ids.total())
	t.failed += int64(len(r.failed))
	t.notOK += int64(len(r.notOK))
	t.unmade += r.unmade
	t.violations += r.violations
	t.used.add(r.used)
	t.latency.Merge(latency)
	t.late = max(t.late, r.late)
	if t.first == nil {
		t.first = r.first
	}
	t.waves = append(t.waves, r.waves...)
	if r.dialled != nil {
		n := r.dialled.Load()
		if t.dialled != nil {
			n += *t.dialled
		}
		t.dialled = &n
	}
	if r.recorder != nil {
		t.addTimeline(r.recorder, r.dials, rep)
	}
	t.addOwn(r, rep)
	if rep == nil {
		return
	}
	if t.record == nil {
		t.record = new(record)
	}
	j := judge(rep.Executed, r.ids.safe.Load(), r.ids.unsafe.Load(), r.failed, slices.Concat(r.ended, r.notOK))
	j.dials = int64(rep.Accepted)
	if r.dials != nil {
		j.dials = r.dials.total()
	}
	t.samples[len(t.samples)-1].setRecord(j, r.dials == nil || j.dials > 0)
	t.record.avoidable += j.avoidable
	t.record.twice += j.twice
	t.record.lost += j.lost
	t.record.dials += j.dials
	if r.dials != nil { // the peer sees the proxy's connections
		return
	}
	t.record.wasted += int64(rep.Unused)
	t.record.peak = max(t.record.peak, int64(rep.Peak))
}

func (t *tally) addTimeline(rec *recorder, dials *dials, rep *peer.Report) {
	var accepted []time.Time
	switch {
	case dials != nil:
		accepted = dials.times()
	case rep != nil:
		accepted = rep.AcceptedAt
	}
	if t.timeline == nil {
		t.timeline = new(Timeline)
	}
	t.timeline.add(rec.timeline(accepted))
}

// judge compares the peer's executions with what the client said: ids 1 to safe
// and unsafeBase+1 to unsafeBase+unsafe were sent, those in failed with an error, those in
// either may or may not have been executed, as they were cancelled or a proxy answered in the
// peer's place, and the others got a 2xx answer.
func judge(ex peer.Executions, safe, unsafe uint64, failed, either []uint64) record {
	var j record
	var executed uint64
	for _, run := range ex {
		executed += run.N
		if run.Count > 1 && run.First > unsafeBase {
			j.twice += int64(run.N)
		}
	}
	for _, id := range failed {
		if ex.Count(id) == 0 {
			j.avoidable++
		}
	}
	j.lost = int64(safe+unsafe-executed) - j.avoidable
	for _, id := range either {
		if ex.Count(id) == 0 {
			j.lost--
		}
	}
	return j
}

// result makes the row.
func (t *tally) result(w row, client string) Result {
	t.timeline.shorten()
	r := Result{
		Scenario: w.scenario.name, Proto: w.proto.name, Proxy: w.proxyName(), Client: client,
		Requests: t.requests, Failed: t.failed, Unmade: t.unmade, Violations: t.violations,
		P50: micros(t.latency, 50), P99: micros(t.latency, 99), P999: micros(t.latency, 99.9),
		Percentiles: percentiles(t.latency),
		Dialled:     t.dialled, NotOK: t.notOK,
		Timeline: t.timeline, Samples: t.samples,
	}
	if w.size > 0 {
		r.Size = new(int64(w.size))
	}
	t.own(&r)
	if j := t.record; j != nil {
		r.Avoidable, r.ExecutedTwice, r.Lost = &j.avoidable, &j.twice, &j.lost
		r.Dials, r.WastedDials, r.PeakConns = &j.dials, &j.wasted, &j.peak
		if w.proxy != nil || w.scenario.timed {
			r.TimersLate = new(round(t.late.Seconds()*1e3, 1))
		}
		if w.proxy != nil {
			r.WastedDials, r.PeakConns = nil, nil
			if j.dials == 0 { // the client doesn't dial by Setup.Transport: it can't do without
				r.Dials = nil
			}
		}
	}
	if len(t.waves) > 0 {
		r.Waves = new(int64(len(t.waves)))
		r.WaveP50 = median(t.waves, func(w wave) *float64 { return w.p50 })
		r.WaveP99 = median(t.waves, func(w wave) *float64 { return w.p99 })
		r.WaveDials = median(t.waves, func(w wave) *int64 { return w.dials })
	}
	r.RPS, r.CPUPerRequest, r.AllocsPerRequest = t.used.perRequest()
	t.used.setPeaks(&r.PeakGoroutines, &r.PeakFDs, &r.PeakRSS, &r.Syscalls)
	if t.first != nil {
		r.FirstError = t.first.Error()
	}
	return r
}

// micros returns a percentile; nil of nothing.
func micros(h *hdrhistogram.Histogram, percentile float64) *float64 {
	if h.TotalCount() == 0 {
		return nil
	}
	return new(round(float64(h.ValueAtPercentile(percentile))/1e3, 1))
}

// median returns the one in the middle, the higher of two, of what the waves have; nil of
// nothing.
func median[T cmp.Ordered](waves []wave, of func(wave) *T) *T {
	var xs []T
	for _, w := range waves {
		if x := of(w); x != nil {
			xs = append(xs, *x)
		}
	}
	if len(xs) == 0 {
		return nil
	}
	slices.Sort(xs)
	return &xs[len(xs)/2]
}

func round(x float64, digits int) float64 {
	p := math.Pow10(digits)
	return math.Round(x*p) / p
}
