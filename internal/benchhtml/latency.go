package benchhtml

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"example.com/connwise/bench"
)

// leastMicros is what lower latencies are drawn as, on an axis that has no zero.
const leastMicros = 0.1

// latency plots each client's latency over the percentile: how long it took at most in 99 of
// 100 calls, in 999 of 1000, and so on.
func latency(g *group, look looks) figure {
	f := figure{
		Title: fmt.Sprintf("%s over %s: latency by percentile", g.scenario, g.name()),
		Note:  "To the right are the rarer, slower calls; the last point is the slowest of all. Lower is better.",
		Width: figureWidth, Height: figureHeight,
	}
	p := newPlot()
	p.Add(grid{x: true, y: true})
	low, high, right := math.Inf(1), 0.0, 10.0
	var texts []string
	for _, r := range g.rows {
		points := percentilePoints(r)
		if len(points) == 0 {
			continue
		}
		for _, xy := range points {
			low, high, right = min(low, xy.Y), max(high, xy.Y), max(right, xy.X)
		}
		addLine(p, points, look.of(r.Client))
		f.Legend = append(f.Legend, key{r.Client, look.of(r.Client).mark()})
		texts = append(texts, latencyText(r))
	}
	if len(f.Legend) == 0 {
		return figure{}
	}
	low, high = around(low, high)
	percentAxis(&p.X, right)
	logarithmic(&p.Y, low, high, duration)
	p.X.Label.Text, p.Y.Label.Text = "percentile of the calls", "latency"
	f.Text = strings.Join(texts, "; ") + "."
	f.draw(p)
	return f
}

// addLine draws a line with points; what can't be drawn was left out before.
func addLine(p *plot.Plot, points plotter.XYs, l look) {
	p.Add(&plotter.Line{XYs: points, LineStyle: l.line()},
		&plotter.Scatter{XYs: points, GlyphStyle: l.glyph()})
}

// percentilePoints has at x how many calls there are for each that was slower. The quickest
// calls are left out, as the axis would be theirs; and percentiles beyond which there is less
// than one call, as they are the slowest call's.
func percentilePoints(r bench.Result) plotter.XYs {
	var points plotter.XYs
	calls := float64(max(r.Succeeded(), 1))
	for _, q := range r.Percentiles {
		us, ok := number(&q.Micros)
		if !ok || q.Percent < 10 || q.Percent > 100 {
			continue
		}
		x := calls
		if q.Percent < 100 {
			if x = 1 / (1 - q.Percent/100); x > calls {
				continue
			}
		}
		points = append(points, plotter.XY{X: x, Y: max(us, leastMicros)})
	}
	return points
}

// percentAxis has decades of 1/(1-p), with the percentiles as texts.
func percentAxis(a *plot.Axis, right float64) {
	a.Scale = plot.LogScale{}
	a.Min, a.Max = 1, right
	ticks := plot.ConstantTicks{{Value: 1, Label: "0 %"}, {Value: 2, Label: "50 %"}}
	for nines, x := 1, 10.0; x <= right*(1+1e-9); nines, x = nines+1, x*10 {
		ticks = append(ticks, plot.Tick{Value: x, Label: percentText(nines)})
	}
	a.Tick.Marker = ticks
}

// percentText writes 90, 99, 99.9, ...
func percentText(nines int) string {
	switch nines {
	case 1:
		return "90 %"
	case 2:
		return "99 %"
	}
	return "99." + strings.Repeat("9", nines-2) + " %"
}

func latencyText(r bench.Result) string {
	var parts []string
	for _, p := range []struct {
		name string
		us   *float64
	}{{"p50", r.P50}, {"p99", r.P99}, {"p99.9", r.P999}} {
		if us, ok := number(p.us); ok {
			parts = append(parts, p.name+" "+duration(us))
		}
	}
	return r.Client + ": " + strings.Join(parts, ", ")
}
