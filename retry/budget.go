package retry

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Budget bounds the retries of all calls together, so that a failing server doesn't get the
// load of every call's attempts on top of what it can't bear already. In a Window, retries may
// cost as much as the larger of Floor and a share of the calls that began in it. A retry costs
// 1, or TimeoutCost if it follows a timeout. Once that is spent, calls that fail are not sent
// again: they end at once, with the error that they have.
//
// There are two accounts, so that a storm of requests whose answers were lost doesn't forbid
// the retry of one that never left: one for requests that may have been processed (Share), one
// for those that are provably unprocessed (UnprocessedShare). Each has a Floor of its own, and
// nothing moves between them.
//
// The zero Budget works. It may be shared by several Transports, whose calls it then counts
// together. It's safe for concurrent use, and must not be copied after its first use. The fields
// are read once, at the first call of a Transport that has it. A field that Check would refuse
// counts as zero.
//
// The Window slides by tenths: what counts is the current tenth and the ten before it, for
// calls and retries alike, thus what is younger than a Window, and nothing older than 1.1. So the
// retries of no Window cost more than Floor, or the share of the calls within 1.1 Windows. As
// the clock is looked at for every 64th call and for every retry only, up to 63 calls may count
// as later than they were. Time is the monotonic clock's: to set the wall clock changes
// nothing, and where that clock stands still while the machine is suspended, so does the Window.
type Budget struct {
	// Share is the share of calls that may be sent again although they may have been
	// processed: at 0.1, ten calls pay for one retry. Zero: 0.1. Negative: none, only Floor
	// counts. NaN and more than 1e6 are refused by Check.
	Share float64
	// UnprocessedShare is the same for what is provably unprocessed, which cost the server no
	// work. Zero: 1. Negative: none, only Floor counts. NaN and more than 1e6 are refused by
	// Check.
	UnprocessedShare float64
	// Floor is what retries may cost in a Window, in each account, however few calls there
	// are. Zero: 100. Negative: none, only the shares count.
	Floor int
	// Window is how long calls and retries count. Zero: 10 s. Negative is refused by Check.
	Window time.Duration
	// TimeoutCost is how much a retry after a timeout costs: the attempt before it has kept
	// the server busy for long. Zero: 2. 1: as much as any other. Negative is refused by Check.
	TimeoutCost int
	// Part keeps one call from taking what others need: its second and later retries are
	// refused if all of its retries from an account together would cost more than this part of
	// what was left there without them. The first one needs only to be affordable, so that the
	// last of what is left can be spent, and a small Floor is worth something. Zero: 0.2, which
	// is 20 of a full Floor of 100, but 1 of a Floor of 5: then no call gets a second retry, unless
	// the Share of many calls allows more. 1: no such limit. Its refusals are ReasonBudget too,
	// though something is left. Negative, NaN and more than 1 are refused by Check.
	Part float64

	_     cacheLine     // settings are read by every retry, calls written by every call
	calls atomic.Uint64 // how many began. One counter: striped at random it was slower on 2 cores
	_     cacheLine

	mu      sync.Mutex // guards what follows; nothing blocks while it is held
	started bool       // rules and start are set
	rules   budgetRules
	start   time.Time
	counted uint64 // those of calls that window knows
	window  budgetWindow
	totals  [accounts]budgetTotals
}

// A cacheLine keeps what stands before it from sharing one with what stands behind.
type cacheLine [64]byte

// lookEvery is how many calls may go by without a look at the clock.
const lookEvery = 64

// The accounts of a Budget.
const (
	maybeSentAccount = iota
	unprocessedAccount
	accounts
)

func accountOf(unprocessed bool) int {
	if unprocessed {
		return unprocessedAccount
	}
	return maybeSentAccount
}

// budgetTotals are an account's totals since the Budget's first use.
type budgetTotals struct {
	spent   uint64 // the cost of the retries that were allowed
	refused uint64 // how many retries were not
}

// note counts a call that begins.
func (b *Budget) note() {
	if b.calls.Add(1)%lookEvery == 1 { // the first call too: the Window begins with it
		b.look()
	}
}

// spend asks for one retry, of a request that is provably unprocessed or not, whose last attempt
// ended by a timeout or not. before is what the same call's earlier retries have cost in that
// account. It returns what this one costs; or 0 and false if it's refused, which is counted.
func (b *Budget) spend(unprocessed, timeout bool, before int) (cost int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lookLocked()
	account := accountOf(unprocessed)
	cost = b.rules.cost(timeout)
	if !b.rules.allow(cost, before, b.rules.left(&b.window.sum, account)) {
		b.totals[account].refused++
		return 0, false
	}
	b.totals[account].spent += uint64(cost)
	b.window.spend(account, int64(cost))
	return cost, true
}

func (b *Budget) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lookLocked()
}

// lookLocked moves the window to the present, and tells it of the calls that it doesn't know
// yet. The clock is read first: a call that begins meanwhile may count as a moment too old.
func (b *Budget) lookLocked() {
	if !b.started {
		b.started, b.rules, b.start = true, b.settle(), time.Now()
	}
	b.window.advance(int64(time.Since(b.start) / b.rules.slot))
	calls := b.calls.Load()
	b.window.call(calls - b.counted)
	b.counted = calls
}
