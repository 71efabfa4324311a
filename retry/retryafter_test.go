package retry

import (
	"math"
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const date = "Sun, 01 Mar 2026 11:00:00 GMT" // the server's clock is an hour late
	tests := []struct {
		name, value, date string
		want              time.Duration
		ok                bool
	}{
		{"seconds", "120", "", 2 * time.Minute, true},
		{"zero", "0", "", 0, true},
		{"leading zeros", "007", "", 7 * time.Second, true},
		{"does not fit", "99999999999999999999999999", "", math.MaxInt64, true},
		{"date, no Date", "Sun, 01 Mar 2026 12:00:30 GMT", "", 30 * time.Second, true},
		{"date, by the server's clock", "Sun, 01 Mar 2026 11:00:30 GMT", date, 30 * time.Second, true},
		{"past date", "Sun, 01 Mar 2026 10:00:00 GMT", date, 0, true},
		{"RFC 850 date", "Sunday, 01-Mar-26 12:00:05 GMT", "", 5 * time.Second, true},
		{"asctime date", "Sun Mar  1 12:00:05 2026", "", 5 * time.Second, true},
		{"broken Date is ignored", "Sun, 01 Mar 2026 12:00:30 GMT", "yesterday", 30 * time.Second, true},
		{"seconds don't look at Date", "5", date, 5 * time.Second, true},
		{"empty", "", "", 0, false},
		{"negative", "-1", "", 0, false},
		{"fraction", "1.5", "", 0, false},
		{"sign", "+1", "", 0, false},
		{"text", "soon", "", 0, false},
		{"list", "1, 2", "", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{"Retry-After": {tt.value}}
			if tt.date != "" {
				h.Set("Date", tt.date)
			}
			if got, ok := retryAfter(h, now); got != tt.want || ok != tt.ok {
				t.Errorf("got %v, %v; want %v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
	for _, h := range []http.Header{nil, {}, {"Retry-After": nil}, {"Retry-After": {"1", "2"}}} {
		if d, ok := retryAfter(h, now); d != 0 || ok {
			t.Errorf("%v: got %v, %v; want none", h, d, ok)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"0", "120", "99999999999999999999", "Sun, 01 Mar 2026 12:00:30 GMT", "-1", "1e9", "\x00", "９"} {
		f.Add(s, "Sun, 01 Mar 2026 11:00:00 GMT")
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value, date string) {
		d, ok := retryAfter(http.Header{"Retry-After": {value}, "Date": {date}}, now)
		if d < 0 || !ok && d != 0 {
			t.Errorf("%q, %q: %v, %v", value, date, d, ok)
		}
		if s, isSeconds := parseSeconds(value); isSeconds && (!ok || s != d || s < 0) {
			t.Errorf("%q is %v of seconds, got %v, %v", value, s, d, ok)
		}
	})
}
