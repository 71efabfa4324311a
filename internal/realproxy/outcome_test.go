//go:build proxies && unix

package realproxy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
)

// An outcome is a record held against what the origin executed.
type outcome struct {
	*record
	requests, failed int
	ran              int    // failed, though the origin had executed them
	twice            int    // executed more than once
	lost             int    // answered, and not executed
	dials            uint64 // of the record's client; it may have other records too
}

func judge(rec *record, c client, executed peer.Executions) outcome {
	o := outcome{record: rec, requests: len(rec.sent), dials: c.dials()}
	for _, a := range rec.sent {
		n := executed.Count(a.id)
		switch {
		case a.err != nil && n > 0:
			o.ran++
		case a.err == nil && n == 0:
			o.lost++
		}
		if a.err != nil {
			o.failed++
		}
		if n > 1 {
			o.twice++
		}
	}
	return o
}

// logTable logs the outcomes, and how requests failed.
func logTable(t *testing.T, outcomes ...outcome) {
	t.Helper()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "client\trequests\tfailed\tfailed %\tfailed, ran\texecuted twice\tlost\tdials\t")
	for _, o := range outcomes {
		share := 100 * float64(o.failed) / float64(max(o.requests, 1))
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f\t%d\t%d\t%d\t%d\t\n", o.client, o.requests, o.failed, share, o.ran, o.twice, o.lost, o.dials)
	}
	_ = w.Flush()
	for _, o := range outcomes {
		if kinds := o.kinds(); kinds != "" {
			fmt.Fprintf(&b, "%s: %s\n", o.client, kinds)
		}
	}
	t.Log("\n" + b.String())
}

const maxKinds = 8

// kinds counts failures by phase and innermost cause. It is for people.
func (rec *record) kinds() string {
	counts := make(map[string]int)
	for _, a := range rec.failures() {
		cause := a.err
		for errors.Unwrap(cause) != nil {
			cause = errors.Unwrap(cause)
		}
		key := cause.Error()
		if e, ok := errors.AsType[*pool.Error](a.err); ok {
			key = e.Phase.String() + ": " + key
		}
		counts[key]++
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d x %s", counts[key], key))
	}
	if more := len(parts) - maxKinds; more > 0 {
		parts = append(parts[:maxKinds], fmt.Sprintf("and %d other kinds", more))
	}
	return strings.Join(parts, ", ")
}

// wantClean checks that no request failed, was executed twice or got lost.
func (o outcome) wantClean(t *testing.T) {
	t.Helper()
	o.wantCleanBut(t, &stalls{})
}

// wantCleanBut is wantClean, but for failures that a stall of this machine accounts for.
// They are logged.
func (o outcome) wantCleanBut(t *testing.T, s *stalls) {
	t.Helper()
	o.wantNeverTwice(t)
	if o.requests == 0 {
		t.Errorf("%s: sent nothing", o.client)
	}
	failures := o.unexcused(t, s)
	for _, a := range failures[:min(len(failures), 5)] {
		t.Errorf("%s: %s %d, after %v: %v", o.client, a.method, a.id, a.end.Sub(a.begin).Round(time.Millisecond), a.err)
	}
	if more := len(failures) - 5; more > 0 {
		t.Errorf("%s: %d more failed", o.client, more)
	}
}

// wantAtMost checks that no more than this share of the requests failed, but for failures
// that a stall of this machine accounts for; one may in any case, as the share of a few
// hundred requests is less.
func (o outcome) wantAtMost(t *testing.T, share float64, s *stalls) {
	t.Helper()
	o.wantNeverTwice(t)
	if o.requests == 0 {
		t.Errorf("%s: sent nothing", o.client)
	}
	if n := len(o.unexcused(t, s)); float64(n) > max(1, share*float64(o.requests)) {
		t.Errorf("%s: %d of %d failed, want %.1f %% at most: %s", o.client, n, o.requests, 100*share, o.kinds())
	}
}

// unexcused are the failures for which no stall accounts. It logs how many others there are.
func (o outcome) unexcused(t *testing.T, s *stalls) []attempt {
	t.Helper()
	all := o.failures()
	failures := slices.DeleteFunc(slices.Clone(all), s.touch)
	if n := len(all) - len(failures); n > 0 {
		t.Logf("%s: %d failed about a stall of this machine", o.client, n)
	}
	return failures
}

// wantNeverTwice checks what holds however many fail: nothing is executed twice, and
// what was answered was executed.
func (o outcome) wantNeverTwice(t *testing.T) {
	t.Helper()
	if o.twice > 0 || o.lost > 0 {
		t.Errorf("%s: %d of %d executed twice, %d lost", o.client, o.twice, o.requests, o.lost)
	}
}

var errUnanswered = errors.New("no answer")

func TestJudgeCountsByExecution(t *testing.T) {
	executed := peer.Executions{{First: 1, N: 2, Count: 1}, {First: 3, N: 1, Count: 2}}
	rec := &record{client: "test", sent: []attempt{
		{id: 1},                     // well
		{id: 2, err: errUnanswered}, // failed, and ran
		{id: 3},                     // twice
		{id: 4},                     // lost
		{id: 5, err: errUnanswered}, // failed, and didn't run
	}}
	o := judge(rec, &netHTTP{}, executed)
	if o.requests != 5 || o.failed != 2 || o.ran != 1 || o.twice != 1 || o.lost != 1 {
		t.Errorf("judge = %d requests, %d failed, %d ran, %d twice, %d lost; want 5, 2, 1, 1, 1", o.requests, o.failed, o.ran, o.twice, o.lost)
	}
}
