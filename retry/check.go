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

// Check returns a *PolicyError for the first field that makes no sense.
func (p *Policy) Check() error {
	bad := func(field, format string, args ...any) error {
		return &PolicyError{Field: "Policy." + field, Reason: fmt.Sprintf(format, args...)}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"Interval", p.Interval}, {"MaxInterval", p.MaxInterval}, {"MaxRetryAfter", p.MaxRetryAfter},
		{"AttemptTimeout", p.AttemptTimeout}, {"CallTimeout", p.CallTimeout},
	} {
		if d.value < 0 {
			return bad(d.field, "%v is negative; zero is the default", d.value)
		}
		if d.value > 0 && d.value < time.Microsecond {
			return bad(d.field, "%v is a number without its unit; give a time.Duration", d.value)
		}
	}
	if math.IsNaN(p.Spread) || math.IsInf(p.Spread, 0) {
		return bad("Spread", "%v is no share", p.Spread)
	}
	if p.Timeouts > TimeoutsAlways {
		return bad("Timeouts", "%d is none of TimeoutsUnprocessed, TimeoutsNever and TimeoutsAlways", p.Timeouts)
	}
	if p.NextConn > NextAny {
		return bad("NextConn", "%d is none of NextElsewhere, NextFresh and NextAny", p.NextConn)
	}
	return p.checkLists(bad)
}

// checkLists checks what has several values.
func (p *Policy) checkLists(bad func(field, format string, args ...any) error) error {
	for stage, rule := range p.Stages {
		if stage < dialer.StageResolve || stage > dialer.StageTLS {
			return bad("Stages", "%d is no dialer.Stage", stage)
		}
		if rule > StageNever {
			return bad("Stages", "%d is none of StageRetry, StageNotTimeouts and StageNever", rule)
		}
	}
	for field, methods := range map[string][]string{"Methods": p.Methods, "Repeatable": p.Repeatable} {
		for _, m := range methods {
			if known(strings.ToUpper(m)) && !known(m) || m == "" {
				return bad(field, "%q is no method; %q is (methods are case-sensitive)", m, strings.ToUpper(m))
			}
		}
	}
	for _, s := range p.RetryStatuses {
		if s < 200 || s > 599 {
			return bad("RetryStatuses", "%d is no final status of an answer, 200 to 599", s)
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
