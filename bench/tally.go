package bench

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"example.com/connwise/internal/peer"
)

// A tally sums the rounds of one row.
type tally struct {
	requests, failed, notOK int64
	record                  *record // nil with a target
	used                    usage
	latency                 *hdrhistogram.Histogram
	first                   error
}

// A record is what the peer's oracle says about a row.
type record struct{ avoidable, twice, lost, dials int64 }

// add takes a round; rep is nil with a target.
func (t *tally) add(r *rig, rep *peer.Report) {
	t.requests += int64(r.ids.total())
	t.failed += r.errs
	t.notOK += r.notOK
	t.used.add(r.used)
	t.latency.Merge(r.latency)
	if t.first == nil {
		t.first = r.first
	}
	if rep == nil {
		return
	}
	if t.record == nil {
		t.record = new(record)
	}
	j := judge(rep.Executed, r.ids.safe.Load(), r.ids.unsafe.Load(), r.failed)
	t.record.avoidable += j.avoidable
	t.record.twice += j.twice
	t.record.lost += j.lost
	t.record.dials += int64(rep.Accepted)
}

// judge compares the peer's executions with what the client said: ids 1 to safe
// and unsafeBase+1 to unsafeBase+unsafe were sent, those in failed with an error
// and the others with an answer.
func judge(ex peer.Executions, safe, unsafe uint64, failed []uint64) record {
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
	return j
}

// result makes the row.
func (t *tally) result(scenario, proto, client string) Result {
	r := Result{
		Scenario: scenario, Proto: proto, Client: client,
		Requests: t.requests, Failed: t.failed,
		P50: micros(t.latency, 50), P99: micros(t.latency, 99), P999: micros(t.latency, 99.9),
		NotOK: t.notOK,
	}
	if t.record != nil {
		r.Avoidable, r.ExecutedTwice, r.Lost, r.Dials = &t.record.avoidable, &t.record.twice, &t.record.lost, &t.record.dials
	}
	if n := float64(t.used.requests); n > 0 {
		r.RPS = round(n/t.used.wall.Seconds(), 0)
		r.AllocsPerRequest = round(float64(t.used.mallocs)/n, 1)
		if haveCPU {
			r.CPUPerRequest = new(round(t.used.cpu.Seconds()*1e6/n, 1))
		}
	}
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

func round(x float64, digits int) float64 {
	p := math.Pow10(digits)
	return math.Round(x*p) / p
}
