//go:build proxies && unix

package realproxy

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// The margin before a proxy's idle timeout covers ways and jitter, not a machine that lets
// a process wait for its turn for longer than that. Where the tests run, other work may do
// so. A stall is evidence of it that doesn't come from connwise: a timer that fired late,
// or a request of net/http that was answered, but slowly.
const (
	lateTimer  = 20 * time.Millisecond
	slowAnswer = 50 * time.Millisecond // a new TLS connection through the relay takes 25 ms

	// After so long a stall proxies close connections that are new, or in use, as idle.
	longStall = shortIdle / 4
)

// A span is a time in which this machine stalled.
type span struct{ from, to time.Time }

type stalls struct {
	mu    sync.Mutex
	spans []span
}

// watch notes late timers until stop.
func (s *stalls) watch(stop <-chan struct{}) {
	const every = 5 * time.Millisecond
	due := time.Now().Add(every)
	for pause(time.Until(due), stop) {
		now := time.Now()
		if now.Sub(due) >= lateTimer {
			s.add(due, now)
		}
		due = now.Add(every)
	}
}

func (s *stalls) add(from, to time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans = append(s.spans, span{from, to})
}

// addSlow adds the slow answers of a record.
func (s *stalls) addSlow(rec *record) {
	for _, a := range rec.sent {
		if a.err == nil && a.end.Sub(a.begin) >= slowAnswer {
			s.add(a.begin, a.end)
		}
	}
}

// atLeast are those that lasted so long.
func (s *stalls) atLeast(d time.Duration) *stalls {
	s.mu.Lock()
	defer s.mu.Unlock()
	short := func(p span) bool { return p.to.Sub(p.from) < d }
	return &stalls{spans: slices.DeleteFunc(slices.Clone(s.spans), short)}
}

// touch reports whether one of the stalls overlaps the time from the begin of a connection's
// last use to the attempt's end.
func (s *stalls) touch(a attempt) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := a.begin
	if !a.quiet.IsZero() {
		from = a.quiet
	}
	return slices.ContainsFunc(s.spans, func(p span) bool { return p.from.Before(a.end) && p.to.After(from) })
}

func TestStallsTouchWhatTheyOverlap(t *testing.T) {
	at := func(d time.Duration) time.Time { return time.Unix(100, 0).Add(d) }
	a := attempt{quiet: at(-time.Second), begin: at(0), end: at(10 * time.Millisecond)}
	for _, c := range []struct {
		name     string
		from, to time.Duration
		want     bool
	}{
		{"while idle", -time.Second, -900 * time.Millisecond, true},
		{"into the attempt", -time.Millisecond, time.Millisecond, true},
		{"around it all", -time.Minute, time.Minute, true},
		{"after it", 10 * time.Millisecond, 20 * time.Millisecond, false},
		{"before the last use", -2 * time.Second, -time.Second, false},
	} {
		s := &stalls{}
		s.add(at(c.from), at(c.to))
		if got := s.touch(a); got != c.want {
			t.Errorf("%s: touch = %v, want %v", c.name, got, c.want)
		}
	}
	s := &stalls{}
	s.addSlow(&record{sent: []attempt{
		{begin: at(0), end: at(slowAnswer), err: errUnanswered},
		{begin: at(0), end: at(slowAnswer - 1)},
	}})
	if len(s.spans) != 0 {
		t.Error("a failure, or a quick answer, counts as slow")
	}
	s.addSlow(&record{sent: []attempt{{begin: at(0), end: at(slowAnswer)}}})
	if len(s.spans) != 1 {
		t.Error("a slow answer doesn't count")
	}
	if n, none := s.atLeast(slowAnswer), s.atLeast(slowAnswer+1); len(n.spans) != 1 || len(none.spans) != 0 {
		t.Errorf("atLeast kept %v and %v, want one and none", n.spans, none.spans)
	}
}
