package pool

import (
	"math/rand/v2"
	"testing"
	"time"
)

const ms = time.Millisecond

// A watched is a learner and the clock by which it is told of closes.
type watched struct {
	learner
	now time.Time
}

func newWatched() *watched { return &watched{now: time.Unix(1e9, 0)} }

// timer tells of closes at these ages, well apart.
func (w *watched) timer(ages ...time.Duration) *watched {
	for _, a := range ages {
		w.now = w.now.Add(time.Second)
		w.closed(a, w.now)
	}
	return w
}

// restart tells of closes at these ages, all in one moment.
func (w *watched) restart(ages ...time.Duration) *watched {
	w.now = w.now.Add(time.Second)
	for _, a := range ages {
		w.now = w.now.Add(100 * time.Microsecond)
		w.closed(a, w.now)
	}
	return w
}

func (w *watched) want(t *testing.T, idle time.Duration) {
	t.Helper()
	if got, _, ok := w.value(w.now); got != idle || ok != (idle > 0) {
		t.Errorf("learnt %v, %v; want %v", got, ok, idle)
	}
}

func TestLearnsATimer(t *testing.T) {
	w := newWatched()
	w.timer(3010*ms, 3002*ms)
	w.want(t, 0) // two closes may be chance
	w.timer(3040 * ms)
	w.want(t, 3002*ms)
	if _, jitter, _ := w.value(w.now); jitter != 38*ms {
		t.Errorf("jitter %v, want 38ms", jitter)
	}
}

// A busy machine sees some closes late.
func TestLateSightingsDontHinder(t *testing.T) {
	w := newWatched().timer(1002*ms, 1310*ms, 1004*ms, 1150*ms)
	w.want(t, 0)
	w.timer(1001*ms).want(t, 1001*ms)
	w.timer(1240*ms, 1120*ms, 1005*ms).want(t, 1001*ms)

	w = newWatched()
	for range fewAgree { // many at a time, one after the other
		w.restart(1001*ms, 1002*ms, 1060*ms, 1130*ms, 1003*ms)
	}
	w.want(t, 1001*ms)
}

func TestCoarseTicksTeachTheLeast(t *testing.T) {
	w := newWatched().timer(1100*ms, 2000*ms, 1400*ms, 2400*ms, 1800*ms)
	w.want(t, 0)
	w.timer(1250*ms).want(t, 1100*ms)
	w.timer(1030*ms).want(t, 1030*ms)
}

func TestRestartsTeachNothing(t *testing.T) {
	t.Run("one, at equal ages", func(t *testing.T) {
		w := newWatched().restart(5000*ms, 5000*ms, 5001*ms, 5002*ms, 5001*ms, 5000*ms)
		w.want(t, 0)
	})
	t.Run("several, at differing ages", func(t *testing.T) {
		w := newWatched()
		for range 10 {
			w.restart(5*ms, 400*ms, 2*time.Second, 7*time.Second)
		}
		w.want(t, 0)
	})
	t.Run("single connections, at any age", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		wrong := 0
		for range 200 {
			w := newWatched()
			for range 20 { // requests every 10 s, and a restart now and then
				w.survived(10*time.Second, w.now)
				w.timer(time.Duration(rng.Int64N(int64(10 * time.Second))))
			}
			w.survived(10*time.Second, w.now)
			if _, _, ok := w.value(w.now); ok {
				wrong++
			}
		}
		if wrong > 20 {
			t.Errorf("%d of 200 saw a timer", wrong)
		}
	})
}

func TestClosesBehindAnAnswerTeachNothing(t *testing.T) {
	w := newWatched().timer(1*ms, 2*ms, 1*ms, 1*ms, 3*ms, 1*ms, 1*ms)
	w.want(t, 0)
	w.timer(300*ms, 1*ms, 305*ms, 1*ms, 301*ms).want(t, 300*ms)
}

func TestFollowsATimerThatChanges(t *testing.T) {
	w := newWatched().timer(3*time.Second, 3*time.Second, 3*time.Second, 3*time.Second)
	w.timer(1*time.Second, 1001*ms, 1002*ms).want(t, time.Second)
	w.timer(9*time.Second, 9001*ms, 9002*ms).want(t, 9*time.Second)

	w = newWatched().timer(9*time.Second, 9*time.Second, 9*time.Second)
	w.timer(15*time.Second, 15*time.Second, 15*time.Second).want(t, 9*time.Second) // they may be ticks
	w.timer(15*time.Second, 15*time.Second).want(t, 15*time.Second)
}

// What lives longer than any that was closed shows that no timer closed those.
func TestForgetsWhatIsDisproved(t *testing.T) {
	w := newWatched().timer(time.Second, 1010*ms, 1020*ms)
	if w.survived(1090*ms, w.now) {
		t.Error("disproved by a connection that is hardly older")
	}
	w.want(t, time.Second)
	if !w.survived(1200*ms, w.now) {
		t.Error("not disproved")
	}
	w.want(t, 0)
}

func TestForgetsWhatIsOld(t *testing.T) {
	w := newWatched().timer(time.Second, time.Second, time.Second)
	w.now = w.now.Add(learntFor)
	w.want(t, time.Second)
	w.now = w.now.Add(time.Second)
	w.want(t, 0)

	w = newWatched().timer(time.Hour, time.Hour, time.Hour)
	w.now = w.now.Add(learntTimes * time.Hour)
	w.want(t, time.Hour)
	w.now = w.now.Add(time.Second)
	w.want(t, 0)
}

// A clock set back must not make what was learnt immortal, nor break it.
func TestClockSetBack(t *testing.T) {
	w := newWatched().timer(time.Second, time.Second, time.Second)
	w.now = w.now.Add(-time.Hour)
	w.want(t, time.Second)
	w.timer(time.Second).want(t, time.Second)
}
