package benchcli

import (
	"fmt"
	"slices"
	"strings"

	"example.com/connwise/bench"
)

// checkStrict refuses names of clients of which no row would be held to anything.
func checkStrict(o bench.Options, strict []string) error {
	for _, name := range strict {
		switch {
		case o.Target != "":
			return &bench.UsageError{Option: "strict", Value: name, Reason: "what a target has executed isn't known"}
		case !slices.ContainsFunc(o.Clients, func(c bench.Client) bool { return c.Name == name }):
			return &bench.UsageError{Option: "strict", Value: name, Reason: "isn't among the clients of this run"}
		}
	}
	return nil
}

// held fails where a row of one of the clients has what none should have, or fewer requests
// than were to be made, and where there is no row of it that could have.
func held(rep bench.Report, o bench.Options, strict []string) error {
	var rows []string
	for _, name := range strict {
		if !slices.ContainsFunc(rep.Results, func(r bench.Result) bool { return r.Client == name }) {
			rows = append(rows, name+" has no row")
		}
	}
	for _, r := range rep.Results {
		if !slices.Contains(strict, r.Client) {
			continue
		}
		if wrong := r.Wrong(); wrong != "" {
			rows = append(rows, r.Key().String()+": "+wrong)
		}
		if r.Requests < int64(o.Requests) {
			rows = append(rows, fmt.Sprintf("%s: %d requests of %d", r.Key(), r.Requests, o.Requests))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return fmt.Errorf("bench: strict: %s", strings.Join(rows, "; "))
}
