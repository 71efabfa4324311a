package benchhtml

import (
	"html/template"

	"example.com/connwise/bench"
)

// An outcome is what became of all calls of a client.
type outcome struct {
	Client string
	Mark   template.HTML
	Cells  []string // rows, requests, failed, avoidable, twice, lost
}

// outcomes sums each client's rows. What nobody counted in some row has no sum.
func outcomes(rep bench.Report, look looks) []outcome {
	var list []outcome
	for _, name := range look.names {
		var sum outcomeSum
		for _, r := range rep.Results {
			if r.Client == name {
				sum.add(r)
			}
		}
		if sum.rows > 0 {
			list = append(list, outcome{name, look.of(name).mark(), sum.cells()})
		}
	}
	return list
}

// An outcomeSum is over a client's rows.
type outcomeSum struct {
	rows                   int
	requests, failed       int64
	avoidable, twice, lost total
}

// A total is nil once a summand was.
type total struct {
	n       int64
	unknown bool
}

func (t *total) add(n *int64) {
	if n == nil {
		t.unknown = true
		return
	}
	t.n += *n
}

func (t total) text() string {
	if t.unknown {
		return none
	}
	return count(&t.n)
}

func (s *outcomeSum) add(r bench.Result) {
	s.rows++
	s.requests += r.Requests
	s.failed += r.Failed
	s.avoidable.add(r.Avoidable)
	s.twice.add(r.ExecutedTwice)
	s.lost.add(r.Lost)
}

func (s *outcomeSum) cells() []string {
	return []string{
		count(&s.rows), count(&s.requests), count(&s.failed),
		s.avoidable.text(), s.twice.text(), s.lost.text(),
	}
}
