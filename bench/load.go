package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A Load says when the requests of a row are made. The zero Load is a closed loop: so many
// callers (Options.Workers) each make one call after the other, and a server that is slow gets
// fewer of them. All others are open loops: a request is made when it is due, whether or not
// earlier ones are done, and its latency counts from then, so that a time in which nothing
// was answered shows in the latencies of all that were due in it.
type Load struct {
	kind  string // of loadKinds; empty: closed
	rate  float64
	to    float64 // where a ramp ends
	burst int
	every time.Duration
	file  string
	log   []arrival
}

// loadKinds are how loads are written.
var loadKinds = []string{"closed", "constant:RATE", "poisson:RATE", "bursts:RATE+N/PERIOD", "ramp:RATE-RATE", "replay:FILE"}

const (
	leastRate, mostRate     = 0.001, 100_000 // requests in a second
	leastPeriod, mostPeriod = time.Millisecond, time.Hour
)

// ParseLoad reads a load, as one of
//
//	closed              the zero Load
//	constant:2000       so many requests in a second, evenly
//	poisson:2000        so many on average, at random times that don't depend on each other
//	bursts:2000+500/1s  so many in a second, evenly, and 500 more at once every second: the
//	                    first of them after half of that, or of the round if that is shorter
//	ramp:100-5000       more and more, or fewer and fewer, from the round's beginning to its end
//	replay:FILE         when the lines of a file say, from the earliest of them on
//
// A rate is a decimal number up to 100,000. Each line of a file is for one request: its time
// in seconds with or without decimals, as nginx's $msec, or as in RFC 3339, and then GET, POST
// or nothing, which leaves the method to the scenario. Lines may be in any order; empty ones,
// and those that begin with #, are left out. A file may have a million lines and 64 MiB; it is
// read here, and not again.
//
// An error is a *UsageError, which names the file's line if it is about one.
func ParseLoad(text string) (Load, error) {
	kind, rest, _ := strings.Cut(text, ":")
	l := Load{kind: kind}
	var err error
	switch kind {
	case "closed":
		if text != kind {
			return Load{}, badLoad(text, "takes no rate")
		}
		return Load{}, nil
	case "constant", "poisson":
		l.rate, err = parseRate(rest, leastRate)
	case "bursts":
		err = l.parseBursts(rest)
	case "ramp":
		err = l.parseRamp(rest)
	case "replay":
		l.file = rest
		l.log, err = readLogFile(rest)
	default:
		return Load{}, &UsageError{Option: "load", Value: text, Reason: "unknown", Known: loadKinds}
	}
	if err != nil {
		return Load{}, badLoad(text, err.Error())
	}
	return l, nil
}

func badLoad(text, reason string) error {
	return &UsageError{Option: "load", Value: text, Reason: reason}
}

// String writes the load as ParseLoad reads it.
func (l Load) String() string {
	rate := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	switch l.kind {
	case "":
		return "closed"
	case "bursts":
		return fmt.Sprintf("bursts:%s+%d/%v", rate(l.rate), l.burst, l.every)
	case "ramp":
		return "ramp:" + rate(l.rate) + "-" + rate(l.to)
	case "replay":
		return "replay:" + l.file
	}
	return l.kind + ":" + rate(l.rate)
}

// describe says in words what an open load sends.
func (l Load) describe() string {
	switch l.kind {
	case "constant":
		return fmt.Sprintf("at %v requests in a second", l.rate)
	case "poisson":
		return fmt.Sprintf("at %v requests in a second on average, at random times", l.rate)
	case "bursts":
		return fmt.Sprintf("at %v requests in a second, and %d at once every %v", l.rate, l.burst, l.every)
	case "ramp":
		return fmt.Sprintf("from %v to %v requests in a second", l.rate, l.to)
	}
	return fmt.Sprintf("as recorded in %s, %d requests in %v", l.file, len(l.log), l.lasts())
}

// open says whether requests have times at which they are due.
func (l Load) open() bool { return l.kind != "" }

func (l *Load) parseBursts(text string) error {
	rate, rest, _ := strings.Cut(text, "+")
	n, every, ok := strings.Cut(rest, "/")
	if !ok {
		return fmt.Errorf("must be like bursts:2000+500/1s")
	}
	var err error
	if l.rate, err = parseRate(rate, leastRate); err != nil {
		return err
	}
	if l.burst, err = strconv.Atoi(n); err != nil || l.burst < 1 || l.burst > mostOpen {
		return fmt.Errorf("a burst must be of 1 to %d requests", mostOpen)
	}
	if l.every, err = time.ParseDuration(every); err != nil || l.every < leastPeriod || l.every > mostPeriod {
		return fmt.Errorf("the time from burst to burst must be %v to %s", leastPeriod, short(mostPeriod))
	}
	return nil
}

func (l *Load) parseRamp(text string) error {
	from, to, ok := strings.Cut(text, "-")
	if !ok {
		return fmt.Errorf("must be like ramp:100-5000")
	}
	var err error
	if l.rate, err = parseRate(from, 0); err != nil {
		return err
	}
	if l.to, err = parseRate(to, 0); err != nil {
		return err
	}
	if l.rate+l.to < leastRate {
		return fmt.Errorf("must be more than 0 at its beginning or at its end")
	}
	return nil
}

// parseRate reads requests in a second, without an exponent.
func parseRate(text string, least float64) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.") != "" || x < least || x > mostRate {
		return 0, fmt.Errorf("a rate must be %v to %d requests in a second", least, mostRate)
	}
	return x, nil
}

func readLogFile(name string) ([]arrival, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLog(f, mostArrivals, mostLogBytes)
}
