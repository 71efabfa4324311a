package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a recorded log may have.
const (
	mostArrivals = 1_000_000
	mostLogBytes = 64 << 20
	mostLogLine  = 4096
)

// readLog reads a recorded log of so many requests and bytes at most, see ParseLoad: in order,
// the earliest request at zero.
func readLog(from io.Reader, requests int, bytes int64) ([]arrival, error) {
	limited := &io.LimitedReader{R: from, N: bytes + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, mostLogLine)
	var times []time.Time
	var log []arrival
	n := 0
	for lines.Scan() {
		n++
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		at, method, err := parseLogLine(fields)
		if err == nil && len(log) == requests {
			err = fmt.Errorf("a log may have %d requests", requests)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		times = append(times, at)
		log = append(log, arrival{n: 1, method: method})
	}
	switch err := lines.Err(); {
	case err == nil:
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: has more than %d bytes", n+1, mostLogLine)
	default:
		return nil, err
	}
	switch {
	case limited.N == 0:
		return nil, fmt.Errorf("line %d: a log may have %d bytes", n, bytes)
	case len(log) == 0:
		return nil, errors.New("a log must have a line")
	}
	first := slices.MinFunc(times, time.Time.Compare)
	for i, at := range times {
		log[i].at = at.Sub(first)
	}
	slices.SortStableFunc(log, func(a, b arrival) int { return int(max(-1, min(1, a.at-b.at))) })
	return log, nil
}

// parseLogLine reads a time and perhaps a method.
func parseLogLine(fields []string) (at time.Time, method string, err error) {
	if len(fields) > 2 {
		return at, "", fmt.Errorf("has %d fields; a time, and GET, POST or nothing, are wanted", len(fields))
	}
	if len(fields) == 2 {
		if method = fields[1]; method != http.MethodGet && method != http.MethodPost {
			return at, "", fmt.Errorf("method %q is neither GET nor POST", method)
		}
	}
	at, err = parseLogTime(fields[0])
	return at, method, err
}

// parseLogTime reads seconds with up to nine decimals, from whenever, or a time of RFC 3339.
// Seconds are not read as a float, which can't tell the microseconds of our days apart.
func parseLogTime(text string) (time.Time, error) {
	bad := fmt.Errorf("%q is neither seconds, like 1764547200.123, nor a time like 2025-12-01T00:00:00Z", text)
	if strings.Trim(text, "0123456789.") != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return at, bad
		}
		return at, nil
	}
	whole, part, _ := strings.Cut(text, ".")
	secs, err := strconv.ParseUint(whole, 10, 36) // two thousand years
	if err != nil || len(part) > 9 {
		return time.Time{}, bad
	}
	nanos, err := strconv.ParseUint((part + "000000000")[:9], 10, 64)
	if err != nil {
		return time.Time{}, bad
	}
	return time.Unix(int64(secs), int64(nanos)), nil
}
