package retry

import (
	"math"
	"net/http"
	"time"
)

// retryAfter reads a Retry-After field (RFC 9110 section 10.2.3): seconds, or a date.
// A date is counted from the answer's own Date, so that a wrong clock on either side does
// no harm, and from now if there is none. A past date gives zero. False: there is no
// field, more than one, or it is neither form.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	values := h["Retry-After"]
	if len(values) != 1 {
		return 0, false
	}
	if d, ok := parseSeconds(values[0]); ok {
		return d, true
	}
	at, err := http.ParseTime(values[0])
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(at.Sub(now), 0), true
}

// parseSeconds reads RFC 9110's delay-seconds, 1*DIGIT. A number that doesn't fit gives
// the longest duration.
func parseSeconds(s string) (time.Duration, bool) {
	if s == "" {
		return 0, false
	}
	const most = math.MaxInt64 / int64(time.Second)
	var n int64
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int64(c-'0'), most)
	}
	if n == most {
		return math.MaxInt64, true
	}
	return time.Duration(n) * time.Second, true
}
