package retry

import (
	"math"
	"time"
)

const (
	defaultShare            = 0.1
	defaultUnprocessedShare = 1
	defaultFloor            = 100
	defaultWindow           = 10 * time.Second
	defaultTimeoutCost      = 2
	defaultPart             = 0.2

	// maxShare is far more than any retry limit could use up: what is above it is a mistake.
	maxShare = 1e6
)

// rounding takes back what floating-point arithmetic loses: 0.29*100 is less than 29.
const rounding = 1e-6

// budgetRules are a Budget's fields with the defaults filled in. Its methods are pure.
type budgetRules struct {
	share       [accounts]float64
	floor       int64         // negative is as good as zero, as no share is negative
	slot        time.Duration // a tenth of Window, rounded up
	timeoutCost int
	part        float64
}

// settle reads the fields. What Check would refuse counts as zero.
func (b *Budget) settle() budgetRules {
	window := orDefault(b.Window, defaultWindow)
	r := budgetRules{
		floor:       int64(b.Floor),
		slot:        (window-1)/(budgetSlots-1) + 1,
		timeoutCost: b.TimeoutCost,
		part:        b.Part,
	}
	r.share[maybeSentAccount] = shareOr(b.Share, defaultShare)
	r.share[unprocessedAccount] = shareOr(b.UnprocessedShare, defaultUnprocessedShare)
	if r.floor == 0 {
		r.floor = defaultFloor
	}
	if r.timeoutCost <= 0 {
		r.timeoutCost = defaultTimeoutCost
	}
	if r.part == 0 || badPart(r.part) {
		r.part = defaultPart
	}
	return r
}

func shareOr(share, def float64) float64 {
	if share == 0 || badShare(share) {
		return def
	}
	return max(share, 0)
}

func badShare(share float64) bool { return math.IsNaN(share) || share > maxShare }

func badPart(part float64) bool { return math.IsNaN(part) || part < 0 || part > 1 }

// cost is what a retry costs.
func (r *budgetRules) cost(timeout bool) int {
	if timeout {
		return r.timeoutCost
	}
	return 1
}

// left is what may still be spent from an account, not negative. It can be less than nothing
// for a while when many calls leave the window at once.
func (r *budgetRules) left(sum *budgetSums, account int) int64 {
	earned := r.share[account]*float64(sum.calls) + rounding
	limit := max(r.floor, int64(min(earned, math.MaxInt64/2))) // as an int64 it must not overflow
	return max(limit-sum.spent[account], 0)
}

// allow says whether a call that has spent before may spend cost of what is left.
func (r *budgetRules) allow(cost, before int, left int64) bool {
	if int64(cost) > left {
		return false
	}
	if before <= 0 {
		return true
	}
	own := float64(before)
	return own+float64(cost) <= r.part*(own+float64(left))+rounding
}
