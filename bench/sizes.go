package bench

import (
	"fmt"
	"slices"
)

// spareDescriptors are what this process, or the peer's, needs beside those of connections.
const spareDescriptors = 100

// fitSizes leaves out the rows that are larger than MaxSize, and those for which there's no
// room; of a scenario that was named that is an error. descriptors are how many files a
// process may have open.
func (p *plan) fitSizes(descriptors int) error {
	if p.MaxSize < 0 {
		return &UsageError{Option: "max-size", Value: fmt.Sprint(p.MaxSize), Reason: "must be 0 (all sizes) or more"}
	}
	var first error
	p.rows = slices.DeleteFunc(p.rows, func(w row) bool {
		if p.MaxSize > 0 && w.size > p.MaxSize {
			return true
		}
		err := p.room(w, descriptors)
		if first == nil {
			first = err
		}
		return err != nil
	})
	if len(p.Scenarios) > 0 {
		return first
	}
	return nil
}

// room tells why a row can't be run, if it can't: nil where it has no size.
func (p *plan) room(w row, descriptors int) error {
	conns := w.size + p.Workers
	what := fmt.Sprintf("%s with %d", w.scenario.name, w.size)
	switch {
	case w.size == 0:
		return nil
	case conns+spareDescriptors > descriptors:
		return &UsageError{Option: "scenario", Value: w.scenario.name, Reason: fmt.Sprintf("%s may open %d connections, and the system allows a process %d open files: raise that, or set max-size", what, conns, descriptors)}
	case w.scenario.holds && p.MaxConns > 0 && conns > p.MaxConns:
		return &UsageError{Option: "max-conns", Value: fmt.Sprint(p.MaxConns), Reason: fmt.Sprintf("%s needs %d: raise that, or set max-size", what, conns)}
	case p.share(0) < int64(4*conns):
		return &UsageError{Option: "requests", Value: fmt.Sprint(p.Requests), Reason: fmt.Sprintf("%s needs %d in each of the %d rounds: raise that, or set max-size", what, 4*conns, p.Rounds)}
	}
	return nil
}
