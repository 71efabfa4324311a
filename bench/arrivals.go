package bench

import (
	"iter"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// burstEvery is the time between two bursts of burst-warm. The first one comes after
// half of it, or of the round if that is shorter.
const burstEvery = time.Second

// An arrival is a time, from a round's beginning, at which so many requests are due.
type arrival struct {
	at     time.Duration
	n      int
	method string // empty: the scenario's
}

// arrivals yields when requests are due in burst-warm, from the start of a round of some
// length, and how many at a time: rate of them in a second, evenly, and burst more with each
// burst.
func arrivals(rate, burst int, length time.Duration) iter.Seq2[time.Duration, int] {
	return func(yield func(time.Duration, int) bool) {
		for a := range bursts(float64(rate), burst, burstEvery, length) {
			if !yield(a.at, a.n) {
				return
			}
		}
	}
}

// arrivals are the requests of a round of some length. Those of a poisson load are the same
// for the same seed and round, whoever makes them.
func (l Load) arrivals(seed uint64, round int, length time.Duration) iter.Seq[arrival] {
	switch l.kind {
	case "constant":
		return ramp(l.rate, l.rate, length)
	case "poisson":
		return poisson(l.rate, rand.New(rand.NewPCG(seed, uint64(round))), length)
	case "bursts":
		return bursts(l.rate, l.burst, l.every, length)
	case "ramp":
		return ramp(l.rate, l.to, length)
	case "replay":
		return until(l.log, length)
	}
	panic("bench: a closed loop has no arrivals")
}

// lasts is how long a recorded log is; zero of other loads.
func (l Load) lasts() time.Duration {
	if len(l.log) == 0 {
		return 0
	}
	return min(l.log[len(l.log)-1].at, math.MaxInt64-time.Millisecond) + time.Millisecond
}

// posts says whether a recorded log has POSTs.
func (l Load) posts() bool {
	return slices.ContainsFunc(l.log, func(a arrival) bool { return a.method == http.MethodPost })
}

// atOnce is how many requests may be due at the same time.
func (l Load) atOnce() int { return max(1, l.burst) }

// bursts are rate requests in a second, and burst more every so often.
func bursts(rate float64, burst int, every, length time.Duration) iter.Seq[arrival] {
	return func(yield func(arrival) bool) {
		next := min(every, length) / 2
		through := func(to time.Duration) bool { // the bursts until then
			for ; next <= to && next < length; next += every {
				if !yield(arrival{at: next, n: burst}) {
					return false
				}
			}
			return true
		}
		for a := range ramp(rate, rate, length) {
			if !through(a.at) || !yield(a) {
				return
			}
		}
		through(length)
	}
}

// ramp goes from so many requests in a second to so many at the end. Request i is due when
// the integral of the rate, from*t + (to-from)*t*t/(2*length), is i.
func ramp(from, to float64, length time.Duration) iter.Seq[arrival] {
	return func(yield func(arrival) bool) {
		k := (to - from) / (2 * length.Seconds())
		for i := 0.0; ; i++ {
			t := 0.0
			if i > 0 {
				// Of the two forms of a quadratic equation's solution the one that takes k = 0.
				t = 2 * i / (from + math.Sqrt(from*from+4*k*i))
			}
			if at := seconds(t); math.IsNaN(t) || at >= length || !yield(arrival{at: at, n: 1}) {
				return
			}
		}
	}
}

// poisson is a process of that rate.
func poisson(rate float64, random *rand.Rand, length time.Duration) iter.Seq[arrival] {
	return func(yield func(arrival) bool) {
		for t := 0.0; ; {
			t += random.ExpFloat64() / rate
			if at := seconds(t); at >= length || !yield(arrival{at: at, n: 1}) {
				return
			}
		}
	}
}

// until are those that are due before length.
func until(log []arrival, length time.Duration) iter.Seq[arrival] {
	return func(yield func(arrival) bool) {
		for _, a := range log {
			if a.at >= length || !yield(a) {
				return
			}
		}
	}
}

func seconds(t float64) time.Duration { return time.Duration(math.Round(t * 1e9)) }
