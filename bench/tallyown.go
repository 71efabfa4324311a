package bench

import (
	"time"

	"example.com/connwise/internal/peer"
)

// addOwn adds what only some scenarios have. rep is nil with a target.
func (t *tally) addOwn(r *rig, rep *peer.Report) {
	if r.storm {
		t.cancelled = plus(t.cancelled, int64(len(r.ended)))
	}
	if r.leftOpen != nil {
		t.leftOpen = plus(t.leftOpen, *r.leftOpen)
	}
	if r.lane != nil {
		t.overtaken = plus(t.overtaken, r.lane.overtaken())
		t.delay = r.lane.patience
	}
	if r.checked > 0 && rep != nil {
		t.damaged = plus(t.damaged, r.damaged.Load()+int64(rep.Damaged))
	}
}

func plus(sum *int64, n int64) *int64 {
	if sum != nil {
		n += *sum
	}
	return &n
}

// own sets what only some scenarios have.
func (t *tally) own(r *Result) {
	r.Cancelled, r.LeftOpen, r.Overtaken, r.Damaged = t.cancelled, t.leftOpen, t.overtaken, t.damaged
	r.MiBPerS, r.CPUPerMiB = t.used.perMiB()
	if t.overtaken != nil {
		r.WaitP50, r.WaitP99 = waited(r.P50, t.delay), waited(r.P99, t.delay)
	}
}

// waited is what is left of a latency, in microseconds, without the time that an answer takes.
func waited(latency *float64, answer time.Duration) *float64 {
	if latency == nil {
		return nil
	}
	return new(round(max(0, *latency-float64(answer)/1e3), 1))
}
