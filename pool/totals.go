package pool

import (
	"maps"
	"time"
)

// Totals are counters that only grow.
type Totals struct {
	Sent         uint64 `json:"sent"`          // requests given to a connection, replacements included
	Failed       uint64 `json:"failed"`        // RoundTrip calls that ended in an error
	Reused       uint64 `json:"reused"`        // requests sent on a connection that had carried one before
	Replaced     uint64 `json:"replaced"`      // requests sent again silently: their connection took no byte, or the peer refused them
	Refused      uint64 `json:"refused"`       // HTTP/2: requests that the peer said it did not process
	GoAways      uint64 `json:"goaways"`       // HTTP/2: connections on which the peer sent GOAWAY
	Stale        uint64 `json:"stale"`         // idle connections found dead by the look before reuse
	Dials        uint64 `json:"dials"`         // dials started
	DialsFailed  uint64 `json:"dials_failed"`  // dials that ended in an error
	DialsUnused  uint64 `json:"dials_unused"`  // dials whose connection nobody was waiting for any more
	DialsAhead   uint64 `json:"dials_ahead"`   // dials that no request asked for: Warm, MinIdlePerHost, and renewals
	Opened       uint64 `json:"opened"`        // connections opened
	Closed       uint64 `json:"closed"`        // connections closed
	Waited       uint64 `json:"waited"`        // requests that had to wait for capacity or a dial
	WaitTimeouts uint64 `json:"wait_timeouts"` // requests that ended with ErrWaitTimeout or ErrTooManyWaiters
	// WaitTime is the sum of the time that requests waited, in nanoseconds.
	WaitTime time.Duration `json:"wait_time_ns"`
	// WaitTimes counts what WaitTime sums: each time that a request had to wait until it had a
	// connection or gave up, also at MaxWait or when its context ended. It has a wait that goes on
	// in neither.
	WaitTimes Histogram `json:"wait_times"`
	// DialTimes counts the dials that opened a connection by what they took, TLS included.
	DialTimes Histogram `json:"dial_times"`
	// DialFailures splits DialsFailed.
	DialFailures DialFailures `json:"dial_failures"`
	// Confirmed counts requests whose connection was asked for a sign of life
	// (Config.ConfirmAfter), and ConfirmFailed those to which it gave none in time.
	Confirmed     uint64 `json:"confirmed"`
	ConfirmFailed uint64 `json:"confirm_failed"`
	// IdleCloses counts how peers closed idle connections: "fin", "reset", "close_notify"
	// (TLS), "408" (an answer with that status), "surplus" (other bytes), "goaway"
	// (HTTP/2), "unknown".
	IdleCloses map[string]uint64 `json:"idle_closes"`
	// ClosedBy splits Closed by reason.
	ClosedBy map[CloseReason]uint64 `json:"closed_by"`
	// IdleAges has, of those in ClosedBy that carried no request then, how long they had been
	// idle. It has nothing of reasons for which connections are closed only in use.
	IdleAges map[CloseReason]IdleAges `json:"idle_ages"`
}

// IdleAges are the ages of idle connections when they were closed.
type IdleAges struct {
	Count uint64        `json:"count"`
	Sum   time.Duration `json:"sum_ns"` // Sum / Count is the mean
}

// Add adds o's counters to t's, which must not share a map with o's.
func (t *Totals) Add(o *Totals) { t.combine(o, func(a, b uint64) uint64 { return a + b }) }

// Sub takes o's counters from t's: with o from an earlier snapshot, what is left has happened in
// between. None goes below zero.
func (t *Totals) Sub(o *Totals) { t.combine(o, func(a, b uint64) uint64 { return a - min(a, b) }) }

// Restarted tells whether a counter is lower than in o, an earlier snapshot of the same: they
// began anew in between, as in a process that was restarted, or with a host that was forgotten.
func (t *Totals) Restarted(o *Totals) bool {
	theirs, sums := o.plain(), o.times()
	for i, a := range t.plain() {
		if *a < *theirs[i] {
			return true
		}
	}
	for i, a := range t.times() {
		if *a < *sums[i] {
			return true
		}
	}
	for r, b := range o.IdleAges {
		if a := t.IdleAges[r]; a.Count < b.Count || a.Sum < b.Sum {
			return true
		}
	}
	return lessIn(t.IdleCloses, o.IdleCloses) || lessIn(t.ClosedBy, o.ClosedBy)
}

func lessIn[K comparable](m, o map[K]uint64) bool {
	for k, n := range o {
		if m[k] < n {
			return true
		}
	}
	return false
}

// combine sets each counter of t to f of it and of o's.
func (t *Totals) combine(o *Totals, f func(a, b uint64) uint64) {
	theirs, sums := o.plain(), o.times()
	for i, a := range t.plain() {
		*a = f(*a, *theirs[i])
	}
	for i, a := range t.times() {
		*a = time.Duration(f(uint64(*a), uint64(*sums[i])))
	}
	combineMaps(&t.IdleCloses, o.IdleCloses, f)
	combineMaps(&t.ClosedBy, o.ClosedBy, f)
	t.combineAges(o.IdleAges, f)
}

const plainTotals = 22

// plain are the counters that are one number, and those of the histograms.
func (t *Totals) plain() (all [plainTotals + 2*histogramBuckets]*uint64) {
	copy(all[:], []*uint64{
		&t.Sent, &t.Failed, &t.Reused, &t.Replaced, &t.Refused, &t.GoAways, &t.Stale,
		&t.Dials, &t.DialsFailed, &t.DialsUnused, &t.DialsAhead, &t.Opened, &t.Closed,
		&t.Waited, &t.WaitTimeouts, &t.Confirmed, &t.ConfirmFailed,
		&t.DialFailures.Resolve, &t.DialFailures.Connect, &t.DialFailures.Proxy,
		&t.DialFailures.TLS, &t.DialFailures.Abandoned,
	})
	for i := range histogramBuckets {
		all[plainTotals+2*i] = &t.WaitTimes.Counts[i]
		all[plainTotals+2*i+1] = &t.DialTimes.Counts[i]
	}
	return all
}

// times are the sums of times.
func (t *Totals) times() [3]*time.Duration {
	return [...]*time.Duration{&t.WaitTime, &t.WaitTimes.Sum, &t.DialTimes.Sum}
}

// combineMaps is combine for what was counted by name. Only o's names change anything.
func combineMaps[K comparable](m *map[K]uint64, o map[K]uint64, f func(a, b uint64) uint64) {
	if *m == nil {
		*m = make(map[K]uint64, len(o))
	}
	for k, n := range o {
		(*m)[k] = f((*m)[k], n)
	}
}

func (t *Totals) combineAges(o map[CloseReason]IdleAges, f func(a, b uint64) uint64) {
	if t.IdleAges == nil {
		t.IdleAges = make(map[CloseReason]IdleAges, len(o))
	}
	for r, b := range o {
		a := t.IdleAges[r]
		t.IdleAges[r] = IdleAges{f(a.Count, b.Count), time.Duration(f(uint64(a.Sum), uint64(b.Sum)))}
	}
}

// countClosed counts a connection that was closed, which had been idle for so long; negative: it
// was in use.
func (t *Totals) countClosed(reason CloseReason, idle time.Duration) {
	t.Closed++
	if t.ClosedBy == nil {
		t.ClosedBy = make(map[CloseReason]uint64)
	}
	t.ClosedBy[reason]++
	if idle < 0 {
		return
	}
	if t.IdleAges == nil {
		t.IdleAges = make(map[CloseReason]IdleAges)
	}
	a := t.IdleAges[reason]
	t.IdleAges[reason] = IdleAges{a.Count + 1, a.Sum + idle}
}

func (t *Totals) countIdleClose(how idleClose) {
	if t.IdleCloses == nil {
		t.IdleCloses = make(map[string]uint64)
	}
	t.IdleCloses[string(how)]++
}

// clone shares nothing with t, and its maps aren't nil.
func (t *Totals) clone() (c Totals) {
	t.copyTo(&c)
	return c
}

// copyTo sets c to a copy of t, in c's maps if it has some.
func (t *Totals) copyTo(c *Totals) {
	hows, reasons, ages := c.IdleCloses, c.ClosedBy, c.IdleAges
	*c = *t
	c.IdleCloses, c.ClosedBy, c.IdleAges = copyMap(hows, t.IdleCloses), copyMap(reasons, t.ClosedBy), copyMap(ages, t.IdleAges)
}

func copyMap[K comparable, V any](into, m map[K]V) map[K]V {
	if into == nil {
		into = make(map[K]V, len(m))
	}
	clear(into)
	maps.Copy(into, m)
	return into
}
