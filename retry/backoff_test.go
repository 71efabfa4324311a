package retry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/pool"
)

// timed runs a POST in a bubble, over a base that fails or answers as the script says,
// and returns when each attempt was made.
func timed(t *testing.T, p Policy, ctx context.Context, method string, ends ...any) (at []time.Duration, took time.Duration, resp *http.Response, err error) {
	t.Helper()
	start := time.Now()
	base := newScript(t, ends...)
	base.other = func(*http.Request) { at = append(at, time.Since(start)) }
	resp, err = (&Transport{Base: base, Policy: p}).RoundTrip(newRequest(t, method, nil).WithContext(ctx))
	return at, time.Since(start), resp, err
}

func wantTimes(t *testing.T, got []time.Duration, want ...time.Duration) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("attempts at %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("attempt %d at %v, want %v", i+1, got[i], want[i])
		}
	}
}

const ms = time.Millisecond

// TestA7_Backoff: exact times of the attempts for a known jitter.
func TestA7_Backoff(t *testing.T) {
	dial := failed(pool.PhaseDial)
	tests := []struct {
		name   string
		policy Policy
		jitter float64
		want   []time.Duration
	}{
		{"no jitter drawn", NeverTimeouts(), 0, []time.Duration{0, 100 * ms, 300 * ms}},
		{"half", NeverTimeouts(), 0.5, []time.Duration{0, 125 * ms, 375 * ms}},
		{"nearly all", NeverTimeouts(), 0.999, []time.Duration{0, 149950 * time.Microsecond, 449850 * time.Microsecond}},
		{"once", Once(), 0.5, []time.Duration{0, 150 * ms}},
		{"off", Off(), 0.5, []time.Duration{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.policy.Jitter = func() float64 { return tt.jitter }
				ends := []any{dial, dial, dial}[:len(tt.want)]
				at, took, _, err := timed(t, tt.policy, t.Context(), "POST", ends...)
				wantTimes(t, at, tt.want...)
				if last := tt.want[len(tt.want)-1]; took != last || lastError(err) != error(dial) {
					t.Errorf("returned %v after %v, want %v after %v", err, took, dial, last)
				}
			})
		})
	}
}

// TestCancelledBackoff: the end of the context ends the wait at that moment. Both errors
// are found, with the context's cause, and nothing more is sent.
func TestCancelledBackoff(t *testing.T) {
	shutdown := errors.New("shutting down")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(40*ms, func() { cancel(shutdown) })
		dial := failed(pool.PhaseDial)
		at, took, _, err := timed(t, Default(), ctx, "POST", dial)
		wantTimes(t, at, 0)
		if took != 40*ms {
			t.Errorf("returned after %v, want 40ms", took)
		}
		e, _ := errors.AsType[*pool.Error](err)
		stopped, _ := errors.AsType[*StoppedError](err)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, shutdown) || e != dial {
			t.Errorf("got %v; want the context's error, its cause and the attempt's", err)
		}
		if stopped == nil || stopped.Last != error(dial) || stopped.Timeout() {
			t.Errorf("got %#v; want a StoppedError of no timeout", err)
		}
	})
}

// TestCancelChannel: a request's own channel ends the wait, too.
func TestCancelChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancel := make(chan struct{})
		time.AfterFunc(40*ms, func() { close(cancel) })
		req := newRequest(t, "POST", nil)
		req.Cancel = cancel //lint:ignore SA1019 it is honoured, so it is tested
		start := time.Now()
		_, err := (&Transport{Base: newScript(t, failed(pool.PhaseDial))}).RoundTrip(req)
		if took := time.Since(start); took != 40*ms || !errors.Is(err, context.Canceled) {
			t.Errorf("returned %v after %v; want cancelled after 40ms", err, took)
		}
	})
}

// TestNearDeadline: a wait that the deadline would end isn't begun. The error is the
// attempt's own.
func TestNearDeadline(t *testing.T) {
	tests := []struct {
		limit time.Duration
		want  []time.Duration
	}{
		{99 * ms, []time.Duration{0}},
		{100 * ms, []time.Duration{0}}, // no time would remain for an attempt
		{101 * ms, []time.Duration{0, 100 * ms}},
		{300 * ms, []time.Duration{0, 100 * ms}},
		{301 * ms, []time.Duration{0, 100 * ms, 300 * ms}},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
			defer cancel()
			dial := failed(pool.PhaseDial)
			ends := []any{dial, dial, dial}[:len(tt.want)]
			at, took, _, err := timed(t, Policy{Spread: -1}, ctx, "POST", ends...)
			wantTimes(t, at, tt.want...)
			if last := tt.want[len(tt.want)-1]; took != last || lastError(err) != error(dial) {
				t.Errorf("limit %v: returned %v after %v, want the attempt's error after %v", tt.limit, err, took, last)
			}
		})
	}
}

// TestDeadlineInTheWait: a deadline that comes nearer during the wait, as a timer of the
// caller's own, reads as a timeout.
func TestDeadlineInTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// context.WithTimeout's deadline is hidden, as some frameworks' contexts do.
		ctx, cancel := context.WithTimeout(t.Context(), 40*ms)
		defer cancel()
		_, took, _, err := timed(t, Policy{Spread: -1}, hidden{ctx}, "POST", failed(pool.PhaseDial))
		stopped, ok := errors.AsType[*StoppedError](err)
		if took != 40*ms || !ok || !stopped.Timeout() || !stopped.Temporary() {
			t.Errorf("returned %v after %v; want a timeout after 40ms", err, took)
		}
	})
}

type hidden struct{ context.Context }

func (hidden) Deadline() (time.Time, bool) { return time.Time{}, false }

// TestRetryAfterIsWaitedFor: in both forms, the longer of it and the back-off; never when
// it would outlive the deadline, then the answer is returned untouched.
func TestRetryAfterIsWaitedFor(t *testing.T) {
	policy := SafeOnly()
	policy.Spread = -1
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	tests := []struct {
		name  string
		value func() string
		limit time.Duration
		want  []time.Duration
	}{
		{"seconds", func() string { return "3" }, time.Hour, []time.Duration{0, 3 * time.Second}},
		{"date", func() string { return date(7 * time.Second) }, time.Hour, []time.Duration{0, 7 * time.Second}},
		{"shorter than the back-off", func() string { return "0" }, time.Hour, []time.Duration{0, 100 * ms}},
		{"past date", func() string { return date(-time.Hour) }, time.Hour, []time.Duration{0, 100 * ms}},
		{"longer than the deadline", func() string { return "3" }, 3 * time.Second, []time.Duration{0}},
		{"longer than the cap", func() string { return "31" }, time.Hour, []time.Duration{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				first := status(429, "Retry-After", tt.value())
				ends := []any{first, status(200)}[:len(tt.want)]
				at, _, resp, err := timed(t, policy, ctx, "GET", ends...)
				wantTimes(t, at, tt.want...)
				if err != nil || resp != ends[len(ends)-1] {
					t.Fatalf("got %v, %v; want the last answer", resp, err)
				}
				if b, err := io.ReadAll(resp.Body); string(b) != "answer" || err != nil {
					t.Errorf("its body is %q, %v; want all of it", b, err)
				}
			})
		})
	}
}

// TestCancelledRetryAfter: the answer is gone when the context ends during the wait; the
// error tells of it.
func TestCancelledRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, took, resp, err := timed(t, SafeOnly(), ctx, "GET", status(429, "Retry-After", "3"))
		e, ok := errors.AsType[*StatusError](err)
		if resp != nil || took != time.Second || !errors.Is(err, context.Canceled) || !ok || e.RetryAfter != 3*time.Second {
			t.Errorf("got %v, %v after %v; want cancelled after 1s, and the 429", resp, err, took)
		}
	})
}

// A flow is an answer's body that blocks after some bytes, until it is closed.
type flow struct {
	r      io.Reader
	end    chan struct{}
	closed int
	read   int
}

func (f *flow) Read(p []byte) (int, error) {
	if n, err := f.r.Read(p); err == nil {
		f.read += n
		return n, nil
	}
	<-f.end
	return 0, errors.New("read on a closed body")
}

func (f *flow) Close() error {
	if f.closed++; f.closed == 1 {
		close(f.end)
	}
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestDiscard: an answer that is given up is read to its end when that is near, and
// closed in any case, soon; that takes no longer than the wait.
func TestDiscard(t *testing.T) {
	whole := func(n int) io.Reader { return io.LimitReader(zeros{}, int64(n)) }
	tests := []struct {
		name   string
		body   io.Reader
		length int64
		read   int
	}{
		{"short", whole(4 << 10), 4 << 10, 4 << 10},
		{"length unknown", whole(4 << 10), -1, 4 << 10},
		{"announced as long", whole(1 << 20), 1 << 20, 0},
		{"endless", zeros{}, -1, drainBytes + 1},
		{"stalls", strings.NewReader("some"), 4 << 10, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &flow{r: tt.body, end: make(chan struct{})}
				first := status(429, "Retry-After", "1")
				first.Body, first.ContentLength = f, tt.length
				at, _, _, err := timed(t, SafeOnly(), t.Context(), "GET", first, status(200))
				if err != nil {
					t.Fatal(err)
				}
				wantTimes(t, at, 0, time.Second)
				if f.closed == 0 || f.read != tt.read {
					t.Errorf("read %d bytes and closed %d times, want %d and at least once", f.read, f.closed, tt.read)
				}
			})
		})
	}
}
