package retry

import (
	"maps"
	"sync"
)

// Stats are the totals of a Transport since its first request.
type Stats struct {
	// Retries counts the attempts after the first ones, by what had failed before:
	// Evidence's String, or "answered".
	Retries map[string]uint64 `json:"retries"`
	// Refused counts the failures, and the answers with one of RetryStatuses, after which
	// there was no other attempt, by Reason.
	Refused map[Reason]uint64 `json:"refused"`
	// Absorbed counts the calls that were retried and answered, whatever the status.
	Absorbed uint64 `json:"absorbed"`
	// Failed counts the calls that were retried and failed nevertheless.
	Failed uint64 `json:"failed"`
	// Budget is that of the Budget, which may be shared.
	Budget BudgetStats `json:"budget"`
}

// Stats returns a snapshot, which is the caller's.
func (t *Transport) Stats() Stats {
	t.once.Do(t.prepare)
	s := t.counts.snapshot()
	s.Budget = t.budget.Stats()
	return s
}

// counts are what Stats gives. Calls that succeed at once don't touch them.
type counts struct {
	mu sync.Mutex
	Stats
}

// resent counts an attempt after a.
func (n *counts) resent(a *Attempt) {
	what := a.Evidence.String()
	if a.Status != 0 {
		what = "answered"
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Retries == nil {
		n.Retries = make(map[string]uint64)
	}
	n.Retries[what]++
}

func (n *counts) refused(why Reason) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Refused == nil {
		n.Refused = make(map[Reason]uint64)
	}
	n.Refused[why]++
}

func (n *counts) absorbed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.Absorbed++
}

func (n *counts) failed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.Failed++
}

func (n *counts) snapshot() Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.Stats
	s.Retries, s.Refused = maps.Clone(s.Retries), maps.Clone(s.Refused)
	if s.Retries == nil { // as JSON: {}, not null
		s.Retries = map[string]uint64{}
	}
	if s.Refused == nil {
		s.Refused = map[Reason]uint64{}
	}
	return s
}
