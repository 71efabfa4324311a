package benchhtml

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// linear makes an axis from 0 to at least most, with ticks at whole steps of 1, 2 or 5; at whole
// numbers only, for what is counted.
func linear(a *plot.Axis, most float64, steps int, whole bool) {
	step := niceStep(most / float64(steps))
	if whole {
		step = max(step, 1)
	}
	a.Min, a.Max = 0, step*max(1, math.Ceil(most/step-1e-9))
	var ticks plot.ConstantTicks
	for i := 0.0; i*step <= a.Max*(1+1e-9); i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: plain(i * step)})
	}
	a.Tick.Marker = ticks
}

// niceStep is the least of 1, 2, 5, 10, ... and their tenths that is no less than x; 1 for what
// isn't above zero.
func niceStep(x float64) float64 {
	if x <= 0 {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= x*(1-1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// plain writes a number without more decimals than it has.
func plain(x float64) string {
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return grouped(s)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// logarithmic makes an axis of decades for values between low and high, which are above zero. Within two
// decades its ticks are at 1, 2 and 5 of each, otherwise at 1 alone has a text.
func logarithmic(a *plot.Axis, low, high float64, label func(float64) string) {
	few := high/low <= 150
	a.Scale = plot.LogScale{}
	a.Min, a.Max = low, high
	var ticks plot.ConstantTicks
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for m := 1.0; m < 10; m++ {
			t := plot.Tick{Value: m * math.Pow(10, e)}
			if m == 1 || few && (m == 2 || m == 5) {
				t.Label = label(t.Value)
			}
			ticks = append(ticks, t)
		}
	}
	a.Tick.Marker = ticks
}

// around widens low and high to the next of 1, 2, 5, 10, ..., and so that they differ.
func around(low, high float64) (float64, float64) {
	to := niceStep(high)
	from := niceStep(low)
	if from > low*(1+1e-9) { // the one below
		from = niceStep(from / 2.6)
	}
	if from >= to {
		to = niceStep(to * 1.5)
	}
	return from, to
}
