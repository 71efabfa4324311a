//go:build sidecar && linux

package sidecartest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An outcome is what a client saw of one request.
type outcome struct {
	path, method string
	status       int    // 0: none came
	unprocessed  string // Connwise-Unprocessed, "" without one
	retries      int
	err          string
}

func (o outcome) ok() bool { return o.status == http.StatusOK }

// parseOutcome reads a line of a client: path, method, status, Connwise-Unprocessed,
// Connwise-Retries and error, between tabs; "-" and "" are none.
func parseOutcome(line string) (outcome, error) {
	f := strings.Split(line, "\t")
	if len(f) != 6 {
		return outcome{}, fmt.Errorf("a client says %q", line)
	}
	for i := range f {
		f[i] = strings.TrimPrefix(f[i], "-")
	}
	o := outcome{path: f[0], method: f[1], unprocessed: f[3], err: f[5]}
	var err error
	if f[2] != "" {
		o.status, err = strconv.Atoi(f[2])
	}
	if f[4] != "" && err == nil {
		o.retries, err = strconv.Atoi(f[4])
	}
	return o, err
}

// A tally sums up what a client saw, and what became of it.
type tally struct {
	gets, getErrors, posts, postErrors int
	twice                              int // POSTs executed more than once
	retried                            int // by the sidecar, to be answered with success
	unprocessed, maybe                 int // answers of the sidecar that say true, and false
	faults                             []string
	errors                             map[string]int
}

// sum makes a tally, and notes as faults what must never be, through the sidecar or without it.
func sum(all []outcome, executed map[string]int) tally {
	t := tally{errors: make(map[string]int)}
	for _, o := range all {
		t.add(o, executed[o.path])
	}
	return t
}

func (t *tally) add(o outcome, executed int) {
	failed := 0
	if !o.ok() {
		failed = 1
		t.errors[fmt.Sprintf("%s: %d %s", o.method, o.status, errorKind(o.err))]++
	} else if o.retries > 0 {
		t.retried++
	}
	if o.method == http.MethodGet {
		t.gets, t.getErrors = t.gets+1, t.getErrors+failed
	} else {
		t.posts, t.postErrors = t.posts+1, t.postErrors+failed
		if executed > 1 {
			t.twice++
		}
	}
	switch {
	case o.unprocessed == "true":
		t.unprocessed++
	case o.unprocessed == "false":
		t.maybe++
	}
	if f := o.fault(executed); f != "" {
		t.faults = append(t.faults, fmt.Sprintf("%s %s: %s", o.method, o.path, f))
	}
}

// fault says what is wrong with an outcome by itself; "" if nothing is.
func (o outcome) fault(executed int) string {
	switch {
	case o.ok() && executed == 0:
		return "answered, and never executed"
	case o.ok() && o.unprocessed != "":
		return "an answer of the upstream with Connwise-Unprocessed"
	case o.unprocessed == "true" && executed > 0:
		return fmt.Sprintf("unprocessed is said to be proven, and it was executed %d times", executed)
	case (o.status == http.StatusServiceUnavailable) != (o.unprocessed == "true"):
		return fmt.Sprintf("a %d with Connwise-Unprocessed: %q", o.status, o.unprocessed)
	}
	return ""
}

// throughSidecar says what must not be of a client behind a sidecar.
func (t tally) throughSidecar(all []outcome) (faults []string) {
	for _, o := range all {
		switch {
		case o.status == 0:
			faults = append(faults, fmt.Sprintf("%s %s: no answer: %s", o.method, o.path, o.err))
		case o.method == http.MethodGet && !o.ok():
			faults = append(faults, fmt.Sprintf("GET %s: %d after %d retries", o.path, o.status, o.retries))
		}
	}
	if t.twice > 0 {
		faults = append(faults, fmt.Sprintf("%d POSTs executed twice", t.twice))
	}
	return faults
}

// direct says what must not be of a client without a sidecar: the front-end loses some
// requests, not most.
func (t tally) direct() (faults []string) {
	if failed := t.getErrors + t.postErrors; failed > (t.gets+t.posts)/2 {
		faults = append(faults, fmt.Sprintf("%d of %d requests failed", failed, t.gets+t.posts))
	}
	return faults
}

// changing is what differs in errors of one kind: addresses of objects, paths and ports.
var changing = regexp.MustCompile(`0x[0-9a-f]+|/[a-z0-9]+-[a-z0-9-]+|[0-9]+`)

// errorKind shortens an error to what it has in common with others.
func errorKind(err string) string { return changing.ReplaceAllString(err, "*") }

// common are the errors, the most frequent first, three at most.
func (t tally) common() string {
	kinds := make([]string, 0, len(t.errors))
	for k := range t.errors {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		if d := t.errors[b] - t.errors[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	for _, k := range kinds[:min(3, len(kinds))] {
		fmt.Fprintf(&b, "\n\t%d %.160s", t.errors[k], k)
	}
	return b.String()
}
