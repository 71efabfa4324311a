package pool

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestIdleMargin(t *testing.T) {
	for _, tt := range []struct{ timeout, margin, want time.Duration }{
		{60 * time.Second, 0, 5 * time.Second},
		{10 * time.Second, 0, time.Second},
		{time.Second, 0, 100 * ms},
		{300 * ms, 0, 30 * ms},
		{100 * ms, 0, 25 * ms},
		{20 * ms, 0, 10 * ms}, // never more than half
		{time.Second, 200 * ms, 200 * ms},
		{time.Second, 900 * ms, 500 * ms},
	} {
		if got := idleMargin(tt.timeout, tt.margin); got != tt.want {
			t.Errorf("idleMargin(%v, %v) = %v, want %v", tt.timeout, tt.margin, got, tt.want)
		}
	}
}

func TestIdleLimitIsTheSmallestKnown(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name                 string
		hc                   HostConfig
		announced, transport time.Duration
		want                 time.Duration
		from                 limitSource
	}{
		{"nothing known", HostConfig{}, 0, 0, 0, limitNone},
		{"transport's own", HostConfig{}, 0, 90 * s, 90 * s, limitTransport},
		{"configured", HostConfig{ProxyIdleTimeout: 60 * s}, 0, 90 * s, 55 * s, limitConfigured},
		{"configured margin is taken as it is", HostConfig{ProxyIdleTimeout: 60 * s, IdleMargin: 50 * s}, 0, 0, 10 * s, limitConfigured},
		{"announced is smaller", HostConfig{ProxyIdleTimeout: 60 * s}, 2 * s, 90 * s, 1800 * time.Millisecond, limitAnnounced},
		{"announced is larger", HostConfig{ProxyIdleTimeout: 10 * s}, 60 * s, 0, 9 * s, limitConfigured},
		{"announced with a margin too large for it", HostConfig{IdleMargin: 5 * s}, 2 * s, 0, s, limitAnnounced},
		{"transport's own is smallest", HostConfig{ProxyIdleTimeout: 60 * s}, 5 * s, s, s, limitTransport},
	} {
		got, from := idleLimit(tt.hc, tt.announced, tt.transport)
		if got != tt.want || from != tt.from {
			t.Errorf("%s: %v from %v, want %v from %v", tt.name, got, from, tt.want, tt.from)
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
