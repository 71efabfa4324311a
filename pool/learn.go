package pool

import (
	"cmp"
	"slices"
	"time"
)

// A learner finds out how long a peer lets a connection idle, from the ages at which it
// closed idle ones. A timer closes at one age again and again. A restart closes everything
// at one moment, whatever its age; so what is closed within a moment counts as one event,
// and several events have to agree.
//
// Its owner guards it. The zero learner has seen nothing. Its times are by the monotonic
// clock, so that one that was set says nothing of a peer.
type learner struct {
	events []closeEvent // the newest last; nil until there is one

	idle, jitter time.Duration // what was found; idle zero: nothing
	// disproof is an age at which a connection that is still open shows that what was seen
	// were no timer's closes; zero: none is.
	disproof time.Duration
	// doubt is the greatest age that was seen to be closed, zero if none was, and lived in how
	// many moments since the last close connections were found open at a greater one, the last
	// time at livedAt.
	doubt   time.Duration
	lived   int
	livedAt time.Time
	// confirmed is when a close was last seen of a connection that had idled for idle.
	confirmed time.Time
}

// A closeEvent is what was closed in one moment: the ages, from least to most.
type closeEvent struct {
	at          time.Time // of the first
	least, most time.Duration
	outlived    time.Duration // the greatest age at which a connection was found open since
}

// mixed tells whether the ages have nothing in common, as those that a restart ends.
func (e *closeEvent) mixed() bool { return !agreeRoughly(e.least, e.most) }

const (
	closeMoment = 50 * time.Millisecond // what is closed within it is one event
	// leastIdle is below what a timer is believed: a close so soon after an answer belongs
	// to the answer.
	leastIdle = 50 * time.Millisecond

	keptEvents   = 16
	fewAgree     = 3 // events that agree closely are a timer's
	manyAgree    = 5 // and the older ones, which don't agree with them, were another's
	coarseEvents = 6 // events that agree roughly are those of a timer with coarse ticks
	// manyLive times a connection that is open at an age at which none of the others was any more
	// shows that those weren't closed by a timer, however little older it is. Without that, a peer
	// that restarts every few seconds would seem to have one where requests come at gaps that
	// are as short as the ages of one timer may differ.
	manyLive = 3

	// learntFor is how long what was learnt is believed without another close that
	// confirms it, at least; a long timeout is believed for learntTimes of itself.
	learntFor   = 10 * time.Minute
	learntTimes = 20
	// freshFor is for how long no other close is wanted, at least.
	freshFor = 30 * time.Second
)

// agree tells whether the ages are as close to each other as those of one timer: ten
// proxies closed 17 ms before to 47 ms after their time on a busy machine.
func agree(least, most time.Duration) bool {
	return most-least <= max(least/10, 75*time.Millisecond)
}

// agreeRoughly is agree for timers that look at their connections only now and then: some
// close at up to 2.4 times their timeout.
func agreeRoughly(least, most time.Duration) bool { return most <= least*13/5 }

// closed notes that the peer closed a connection that had been idle for age.
func (l *learner) closed(age time.Duration, now time.Time) {
	l.expire(now)
	n := len(l.events)
	switch {
	case n > 0 && now.Sub(l.events[n-1].at) < closeMoment:
		e := &l.events[n-1]
		e.least, e.most = min(e.least, age), max(e.most, age)
	case age < leastIdle:
		return
	default:
		if n == keptEvents {
			l.events = append(l.events[:0], l.events[1:]...)
		}
		l.events = append(l.events, closeEvent{at: now, least: age, most: age})
	}
	l.lived = 0
	if l.idle == 0 || age >= l.idle-l.idle/20 {
		l.confirmed = now // closes of younger ones are a restart's, or another timer's
	}
	l.conclude()
}

// conclude draws what can be drawn from the events. A busy machine sees some closes late, and
// none early: it's the least ages that have to agree.
func (l *learner) conclude() {
	all := l.newest(keptEvents)
	l.doubt, l.disproof = all.most, all.most+slack(all.most)
	roughly := agreeRoughly(all.least, all.most)
	few, many := l.newest(fewAgree), l.newest(manyAgree)
	switch low := l.lowest(); {
	case many.n == manyAgree && many.agree():
		l.found(many)
	case few.n == fewAgree && few.agree():
		if roughly {
			few.least = all.least // ticks that happen to agree, or a timer that has become longer
		}
		l.found(few)
	case low.agree() && low.outlived <= low.most+slack(low.most):
		l.found(low) // the others were seen late
	case all.n >= coarseEvents && roughly:
		all.spread = 0
		l.found(all)
	}
}

// slack is by how much a connection may outlive all that a timer was seen to close.
func slack(most time.Duration) time.Duration { return max(most/20, 75*time.Millisecond) }

// A span is what some events have in common.
type span struct {
	n           int           // how many they are
	least, most time.Duration // of all ages
	spread      time.Duration // between the least and the greatest of the events' least ages
	outlived    time.Duration
	mixed       bool
}

func spanOf(events []closeEvent) span {
	s := span{n: len(events)}
	var most time.Duration
	for i, e := range events {
		if i == 0 {
			s.least = e.least
		}
		s.least, most, s.most = min(s.least, e.least), max(most, e.least), max(s.most, e.most)
		s.outlived, s.mixed = max(s.outlived, e.outlived), s.mixed || e.mixed()
	}
	s.spread = most - s.least
	return s
}

// agree tells whether the events may be one timer's.
func (s *span) agree() bool { return s.n > 0 && !s.mixed && agree(s.least, s.least+s.spread) }

func (l *learner) newest(n int) span { return spanOf(l.events[max(0, len(l.events)-n):]) }

// lowest spans the few newer events with the least ages. It's empty where there are too few.
func (l *learner) lowest() span {
	if len(l.events) < manyAgree {
		return span{}
	}
	events := slices.Clone(l.events[max(0, len(l.events)-coarseEvents):])
	slices.SortFunc(events, func(a, b closeEvent) int { return cmp.Compare(a.least, b.least) })
	return spanOf(events[:fewAgree])
}

// found takes what the events show, unless it's no idle time.
func (l *learner) found(s span) {
	if s.least >= leastIdle {
		l.idle, l.jitter = s.least, s.spread
	}
}

// survived notes that a connection was found open after it had been idle for age. It tells
// whether that disproved what the closes seemed to show. Many that are found open in one
// moment show no more than one does.
func (l *learner) survived(age time.Duration, now time.Time) bool {
	for i := range l.events {
		l.events[i].outlived = max(l.events[i].outlived, age)
	}
	if l.doubt == 0 || age <= l.doubt {
		return false
	}
	if l.lived == 0 || now.Sub(l.livedAt) >= closeMoment {
		l.lived, l.livedAt = l.lived+1, now
	}
	if age < l.disproof && l.lived < manyLive {
		return false
	}
	*l = learner{}
	return true
}

// value is the idle timeout that was learnt, and by how much the closes differed.
func (l *learner) value(now time.Time) (idle, jitter time.Duration, ok bool) {
	l.expire(now)
	return l.idle, l.jitter, l.idle > 0
}

// expire forgets what nothing has confirmed for long.
func (l *learner) expire(now time.Time) {
	if l.events != nil && now.Sub(l.seen()) > max(learntFor, l.believedFor()) {
		*l = learner{}
	}
}

// believedFor is how long what was learnt is believed without confirmation; zero if nothing
// was.
func (l *learner) believedFor() time.Duration {
	if l.idle == 0 {
		return 0
	}
	return max(learntFor, learntTimes*l.idle)
}

// seen is when the last close was seen.
func (l *learner) seen() time.Time {
	if len(l.events) == 0 {
		return time.Time{}
	}
	return l.events[len(l.events)-1].at
}

// unconfirmed tells whether it's time to see another close.
func (l *learner) unconfirmed(now time.Time) bool {
	return l.idle > 0 && now.Sub(l.confirmed) > max(freshFor, 10*l.idle)
}
