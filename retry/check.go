package retry

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/connwise/dialer"
)

// A PolicyError says which field of a Policy makes no sense.
type PolicyError struct {
	Field  string // "Policy.Spread", "Policy.Timeouts", ...
	Reason string // what is wrong, and what would be right
}

// Error names the field and the reason.
func (e *PolicyError) Error() string { return "retry: " + e.Field + ": " + e.Reason }

// Check returns an error if settings of Policy or Budget make no sense: a *PolicyError or a
// *BudgetError. A Transport is made without a function that could refuse them, so whoever
// reads them from flags or a file should ask. RoundTrip doesn't: a negative duration and an unknown
// constant then count as zero, the rest is taken as it is. An Interval without its unit is no
// pause, and Methods in lower case are those of no request.
func (t *Transport) Check() error {
	if err := t.Policy.Check(); err != nil {
		return err
	}
	if t.Budget == nil {
		return nil
	}
	return t.Budget.Check()
}

// Check returns a *PolicyError for the first field, in this order, that makes no sense: durations,
// Spread, Timeouts, NextConn, Stages, Methods, Repeatable, RetryStatuses.
func (p *Policy) Check() error {
	if err := p.checkDurations(); err != nil {
		return err
	}
	switch {
	case math.IsNaN(p.Spread) || math.IsInf(p.Spread, 0):
		return bad("Spread", "%v is no share", p.Spread)
	case p.Spread > maxSpread:
		return bad("Spread", "%g is %g %%; give a share, 0.5 is 50 %%", p.Spread, 100*p.Spread)
	case p.Timeouts > TimeoutsAlways:
		return bad("Timeouts", "%d is none of TimeoutsUnprocessed, TimeoutsNever and TimeoutsAlways", p.Timeouts)
	case p.NextConn > NextAny:
		return bad("NextConn", "%d is none of NextElsewhere, NextFresh and NextAny", p.NextConn)
	}
	return p.checkLists()
}

// maxSpread is more than anybody means: what is above it is a number of percent.
const maxSpread = 10

func bad(field, format string, args ...any) error {
	return &PolicyError{Field: "Policy." + field, Reason: fmt.Sprintf(format, args...)}
}

func (p *Policy) checkDurations() error {
	for _, d := range []struct {
		field string
		value time.Duration
		zero  string // what zero means
	}{
		{"Interval", p.Interval, "100 ms"}, {"MaxInterval", p.MaxInterval, "10 s"}, {"MaxRetryAfter", p.MaxRetryAfter, "30 s"},
		{"AttemptTimeout", p.AttemptTimeout, "none"}, {"CallTimeout", p.CallTimeout, "none"},
	} {
		switch {
		case d.value < 0:
			return bad(d.field, "%v is negative; zero: %s", d.value, d.zero)
		case d.value > 0 && d.value < time.Microsecond:
			return bad(d.field, "%v is a number without its unit; give a time.Duration", d.value)
		}
	}
	if most := orDefault(p.MaxInterval, defaultMaxInterval); p.Backoff == nil && p.Interval > most {
		return bad("Interval", "%v is more than MaxInterval (%v): raise that too", p.Interval, most)
	}
	return nil
}

// checkLists checks what has several values.
func (p *Policy) checkLists() error {
	for stage, rule := range p.Stages {
		if stage < dialer.StageResolve || stage > dialer.StageTLS {
			return bad("Stages", "%d is no dialer.Stage; StageResolve, StageConnect, StageProxy and StageTLS are", stage)
		}
		if rule > StageNever {
			return bad("Stages", "%d is none of StageRetry, StageNotTimeouts and StageNever", rule)
		}
	}
	if err := checkMethods("Methods", p.Methods); err != nil {
		return err
	}
	if err := checkMethods("Repeatable", p.Repeatable); err != nil {
		return err
	}
	for _, s := range p.RetryStatuses {
		if s < 200 || s > 599 {
			return bad("RetryStatuses", "%d is no final status of an answer, 200 to 599", s)
		}
	}
	return nil
}

// checkMethods refuses what no request's method is likely to be (RFC 9110 section 9.1: a token,
// and case-sensitive).
func checkMethods(field string, methods []string) error {
	for _, m := range methods {
		switch upper := strings.ToUpper(m); {
		case m == "" || strings.ContainsAny(m, " \t,;\"/()"):
			return bad(field, "%q is no method; give each one alone, without spaces", m)
		case known(upper) && !known(m):
			return bad(field, "%q is no method; %q is (methods are case-sensitive)", m, upper)
		}
	}
	return nil
}

func known(method string) bool {
	return slices.Contains([]string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodTrace, http.MethodConnect,
	}, method)
}
