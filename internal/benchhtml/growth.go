package benchhtml

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// growth plots the CPU time per request of each client over the scenario's sizes. The groups
// differ by size alone and are in its order.
func growth(groups []*group, look looks) figure {
	f := figure{
		Title: fmt.Sprintf("%s over %s: CPU time per request as the work grows", groups[0].scenario, groups[0].line()),
		Note:  "A point is of all rounds together, the bars go from the cheapest round to the dearest. Flat is good.",
		Width: figureWidth, Height: figureHeight,
	}
	p := newPlot()
	p.Add(grid{x: true, y: true})
	low, high, most := math.Inf(1), 0.0, 0.0
	var texts []string
	for i, name := range look.names {
		line := growthOf(groups, name)
		if len(line.XYs) == 0 {
			continue
		}
		l := look.of(name)
		texts = append(texts, line.text(name, groups[0].scenario))
		line.shift(i, len(look.names))
		errs := &plotter.YErrorBars{XYs: line.XYs, YErrors: line.YErrors, LineStyle: l.line(), CapWidth: 6}
		errs.Dashes, errs.Width = nil, 1
		p.Add(errs)
		addLine(p, line.XYs, l)
		for k, xy := range line.XYs {
			low, high, most = min(low, xy.X), max(high, xy.X), max(most, xy.Y+line.YErrors[k].High)
		}
		f.Legend = append(f.Legend, key{name, l.mark()})
	}
	if len(f.Legend) == 0 {
		return figure{}
	}
	sizeAxis(&p.X, groups, low, high)
	linear(&p.Y, most, 5, false)
	p.X.Label.Text, p.Y.Label.Text = unitOf(groups[0].scenario), "CPU µs per request"
	f.Text = strings.Join(texts, "; ") + "."
	f.draw(p)
	return f
}

// A growthLine is a client's.
type growthLine struct {
	plotter.XYs
	plotter.YErrors
}

func growthOf(groups []*group, client string) growthLine {
	var l growthLine
	for _, g := range groups {
		r := g.row(client)
		if r == nil || g.size < 1 { // the axis has no zero
			continue
		}
		v, ok := number(r.CPUPerRequest)
		if !ok {
			continue
		}
		low, high := v, v
		for _, x := range cpuOfRounds(*r) {
			low, high = min(low, x), max(high, x)
		}
		l.XYs = append(l.XYs, plotter.XY{X: float64(g.size), Y: v})
		l.YErrors = append(l.YErrors, struct{ Low, High float64 }{v - low, high - v})
	}
	return l
}

// shift moves a client's points a little to the side, so that its bars don't hide another's.
func (l growthLine) shift(client, of int) {
	const apart = 0.02 // as a share, as the axis is logarithmic
	for i := range l.XYs {
		l.XYs[i].X *= 1 + apart*(2*float64(client)-float64(of-1))
	}
}

func (l growthLine) text(client, scenario string) string {
	var parts []string
	for _, xy := range l.XYs {
		parts = append(parts, fmt.Sprintf("%s µs at %s", fixed(&xy.Y, 1), plain(xy.X)))
	}
	return client + ": " + strings.Join(parts, ", ") + " " + unitOf(scenario)
}

// sizeAxis has a tick at each size.
func sizeAxis(a *plot.Axis, groups []*group, low, high float64) {
	a.Scale = plot.LogScale{}
	a.Min, a.Max = low/1.5, high*1.5
	var ticks plot.ConstantTicks
	for _, g := range groups {
		if g.size >= 1 {
			ticks = append(ticks, plot.Tick{Value: float64(g.size), Label: count(&g.size)})
		}
	}
	a.Tick.Marker = ticks
}

// worst is how much dearer a client's dearest size is than its cheapest.
func worst(groups []*group, client string) (float64, bool) {
	low, high := math.Inf(1), 0.0
	for _, g := range groups {
		var v *float64
		if r := g.row(client); r != nil {
			v = r.CPUPerRequest
		}
		if x, ok := number(v); ok && x > 0 {
			low, high = min(low, x), max(high, x)
		}
	}
	return high / low, high > 0
}
