package pool

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestIdleMargin(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		path    path
		jitter  time.Duration
		want    time.Duration
	}{
		{"a long timeout", 60 * s, path{}, 0, 5 * s},
		{"a tenth", 10 * s, path{}, 0, s},
		{"a tenth of a second", s, path{}, 0, 100 * ms},
		{"a tenth of little", 300 * ms, path{}, 0, 30 * ms},
		{"at least what peers close early", 100 * ms, path{}, 0, 25 * ms},
		{"never more than half", 20 * ms, path{}, 0, 10 * ms},
		{"covers a short way", s, path{10 * ms, 12 * ms}, 0, 100 * ms},
		{"covers a long way", s, path{300 * ms, 310 * ms}, 0, 325 * ms},
		{"a very long way leaves half", s, path{600 * ms, 610 * ms}, 0, 500 * ms},
		{"a slow handler is no long way", s, path{ms, 800 * ms}, 0, 140 * ms},
		{"a way behind something that connects for it", s, path{0, 95 * ms}, 0, 120 * ms},
		{"jitter", s, path{0, 20 * ms}, 80 * ms, 125 * ms},
	} {
		if got := idleMargin(tt.timeout, tt.path, tt.jitter); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestIdleLimitIsTheSmallestKnown(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name string
		t    timeouts
		want time.Duration
		from limitSource
	}{
		{"nothing known", timeouts{}, 0, limitNone},
		{"transport's own", timeouts{transport: 90 * s}, 90 * s, limitTransport},
		{"configured", timeouts{configured: 60 * s, transport: 90 * s}, 55 * s, limitConfigured},
		{"configured margin is taken as it is", timeouts{configured: 60 * s, margin: 50 * s}, 10 * s, limitConfigured},
		{"announced is smaller", timeouts{configured: 60 * s, announced: 2 * s, transport: 90 * s}, 1800 * ms, limitAnnounced},
		{"announced is larger", timeouts{configured: 10 * s, announced: 60 * s}, 9 * s, limitConfigured},
		{"announced with a margin too large for it", timeouts{announced: 2 * s, margin: 5 * s}, s, limitAnnounced},
		{"transport's own is smallest", timeouts{configured: 60 * s, announced: 5 * s, transport: s}, s, limitTransport},
		{"learnt", timeouts{learnt: 3 * s, transport: 90 * s}, 2700 * ms, limitLearnt},
		{"learnt is smaller", timeouts{configured: 10 * s, learnt: 3 * s, jitter: 200 * ms, path: path{exchange: 100 * ms}}, 2675 * ms, limitLearnt},
		{"learnt with a margin", timeouts{learnt: 3 * s, margin: s}, 2 * s, limitLearnt},
	} {
		if got := tt.t.limit(); got != (inForce{tt.want, tt.from}) {
			t.Errorf("%s: %v from %v, want %v from %v", tt.name, got.limit, got.from, tt.want, tt.from)
		}
	}
}

func TestJudge(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name string
		c    candidate
		want CloseReason
	}{
		{"fresh", candidate{}, ""},
		{"no limits", candidate{idle: 1000 * s, age: 1000 * s}, ""},
		{"just under the limit", candidate{idle: s - 1, limit: s}, ""},
		{"at the limit", candidate{idle: s, limit: s}, ReasonIdleLimit},
		{"at its age", candidate{age: s, maxAge: s}, ReasonMaxAge},
		{"peer closed goes first", candidate{idle: s, limit: s, peerClosed: true, outdated: true}, ReasonPeerClosed},
		{"outdated", candidate{outdated: true}, ReasonIdleClosed},
	} {
		if got, ok := judge(tt.c); got != tt.want || ok != (tt.want == "") {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, ok, tt.want)
		}
	}
}

// Without a monotonic reading only the wall clock counts; with both, whichever says more.
func TestAgeTakesTheClockThatSaysMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		time.Sleep(3 * time.Second)
		now := time.Now()
		if got := age(now, start); got != 3*time.Second {
			t.Errorf("age = %v, want 3s", got)
		}
		suspended := now.Round(0).Add(time.Hour) // the wall clock ran on, the monotonic one stood
		if got := age(suspended, start); got != time.Hour+3*time.Second {
			t.Errorf("after a suspend age = %v, want 1h0m3s", got)
		}
	})
}
