package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// mostReport bounds what ReadReport reads. A report of all scenarios and six clients has a
// hundredth of it.
const mostReport = 64 << 20

// mostSamples is Options.Rounds' bound.
const mostSamples = 100

// ReadReport reads what WriteJSON has written. It fails on anything else, on a report without a
// row or with two of the same, of more rounds than a run can have, or longer than 64 MiB; otherwise the error is r's.
// NotOK and FirstError of the rows aren't in the JSON, and are left zero.
func ReadReport(r io.Reader) (Report, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostReport+1))
	if err != nil {
		return Report{}, fmt.Errorf("bench: reading a report: %w", err)
	}
	if len(text) > mostReport {
		return Report{}, fmt.Errorf("bench: not a report: longer than %d MiB", mostReport>>20)
	}
	var rep Report
	if err := json.Unmarshal(text, &rep); err != nil {
		return Report{}, fmt.Errorf("bench: not a report: %w", err)
	}
	if err := rep.check(); err != nil {
		return Report{}, fmt.Errorf("bench: not a report: %w", err)
	}
	return rep, nil
}

// check refuses what can't be a report.
func (r Report) check() error {
	if len(r.Results) == 0 {
		return errors.New(`it has no rows in "results"`)
	}
	seen := make(map[RowKey]bool, len(r.Results))
	for i, row := range r.Results {
		k := row.Key()
		switch {
		case row.Scenario == "" || row.Proto == "" || row.Client == "":
			return fmt.Errorf("row %d lacks its scenario, proto or client", i+1)
		case len(row.Samples) > mostSamples:
			return fmt.Errorf("row %d has %d rounds", i+1, len(row.Samples))
		case seen[k]:
			return fmt.Errorf("row %d is there twice: %s", i+1, k)
		}
		seen[k] = true
	}
	return nil
}

// A RowKey is what a row is of: no two of a report have the same.
type RowKey struct {
	Scenario, Proto, Client string
	Size                    int64 // -1 where there is none
	Load, Proxy             string
}

// Key returns the row's.
func (r Result) Key() RowKey {
	k := RowKey{r.Scenario, r.Proto, r.Client, -1, r.Load, r.Proxy}
	if r.Size != nil {
		k.Size = *r.Size
	}
	return k
}

// String names the row, its client last.
func (k RowKey) String() string {
	s := k.Scenario + " " + k.Proto
	if k.Size >= 0 {
		s += fmt.Sprintf(" size %d", k.Size)
	}
	if k.Load != "" {
		s += " load " + k.Load
	}
	if k.Proxy != "" {
		s += " behind " + k.Proxy
	}
	return s + " " + k.Client
}
