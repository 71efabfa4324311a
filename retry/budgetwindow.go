package retry

// budgetSlots are the current tenth of a Budget's Window and the ten before it. With these, an
// event counts for at least a Window, and for at most 1.1 of it.
const budgetSlots = 11

// A budgetWindow is what happened lately, in slots of time, numbered from zero. It takes no
// clock and no lock.
type budgetWindow struct {
	now   int64 // the current slot's number
	slots [budgetSlots]budgetSums
	sum   budgetSums // of all slots
}

// budgetSums are calls, and what their retries cost by account.
type budgetSums struct {
	calls uint64
	spent [accounts]int64
}

// advance makes to the current slot, and forgets what has left the window. It never goes back.
func (w *budgetWindow) advance(to int64) {
	if to-w.now >= budgetSlots {
		*w = budgetWindow{now: to}
		return
	}
	for w.now < to {
		w.now++
		old := w.slot()
		w.sum.calls -= old.calls
		for i, spent := range old.spent {
			w.sum.spent[i] -= spent
		}
		*old = budgetSums{}
	}
}

func (w *budgetWindow) slot() *budgetSums { return &w.slots[w.now%budgetSlots] }

func (w *budgetWindow) call(n uint64) {
	w.slot().calls += n
	w.sum.calls += n
}

func (w *budgetWindow) spend(account int, cost int64) {
	w.slot().spent[account] += cost
	w.sum.spent[account] += cost
}
