package retry

// BudgetStats are a Budget's figures at one moment. Spent and Left are costs: a retry after a
// timeout counts for more than one (Budget.TimeoutCost). Those without Unprocessed in their
// names are of the account for requests that may have been processed.
type BudgetStats struct {
	Requests        uint64 `json:"requests"`         // calls that began within the Window
	Left            int64  `json:"left"`             // what may still be spent now
	LeftUnprocessed int64  `json:"left_unprocessed"` // the same for what is provably unprocessed

	// Totals since the Budget's first use, which only grow.

	Spent              uint64 `json:"spent"`               // what retries have cost
	SpentUnprocessed   uint64 `json:"spent_unprocessed"`   // the same for what was provably unprocessed
	Refused            uint64 `json:"refused"`             // retries that the Budget did not allow
	RefusedUnprocessed uint64 `json:"refused_unprocessed"` // the same for what was provably unprocessed
}

// Stats returns the figures. It doesn't count as a use: before the first call of a Transport it
// shows what the fields as they are now would allow, and they can still be changed.
func (b *Budget) Stats() BudgetStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	rules := b.rules
	if b.started {
		b.lookLocked()
	} else {
		rules = b.settle()
	}
	maybe, never := &b.totals[maybeSentAccount], &b.totals[unprocessedAccount]
	return BudgetStats{
		Requests:           b.window.sum.calls,
		Left:               rules.left(&b.window.sum, maybeSentAccount),
		LeftUnprocessed:    rules.left(&b.window.sum, unprocessedAccount),
		Spent:              maybe.spent,
		SpentUnprocessed:   never.spent,
		Refused:            maybe.refused,
		RefusedUnprocessed: never.refused,
	}
}
