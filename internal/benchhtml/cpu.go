package benchhtml

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/connwise/bench"
)

// A bar is a row's CPU time per request.
type bar struct {
	name   string
	value  float64
	rounds []float64
	look   look
	at     float64 // its place on the axis, from above
}

const (
	barHeight = 18 // of the figure, for each bar
	barGap    = 0.7
)

// cpuBars plots the CPU time per request of a scenario's rows: a bar for all rounds taken
// together, and a point for each round. The name at each bar makes a legend needless.
func cpuBars(scenario string, groups []*group, look looks) figure {
	bars, depth := barsOf(groups, look)
	if len(bars) == 0 {
		return figure{}
	}
	f := figure{
		Title: scenario + ": CPU time per request",
		Note:  "A bar and its number are of all rounds together, a point is of one round. Shorter is better.",
		Width: figureWidth, Height: 60 + int(depth*barHeight),
	}
	p := newPlot()
	most := 0.0
	var ticks plot.ConstantTicks
	var texts []string
	for _, b := range bars {
		for _, x := range append(b.rounds, b.value) {
			most = max(most, x)
		}
		ticks = append(ticks, plot.Tick{Value: -b.at, Label: b.name})
		texts = append(texts, fmt.Sprintf("%s %s", b.name, fixed(&b.value, 1)))
	}
	linear(&p.X, most, 6, false)
	p.X.Max = max(p.X.Max, most) * 1.12 // room for the numbers
	p.Y.Min, p.Y.Max = -depth, 0
	p.Y.Tick.Marker, p.Y.Tick.LineStyle.Width, p.Y.Tick.Length = ticks, 0, 2
	p.X.Label.Text = "CPU µs per request"
	p.Add(grid{x: true}, barPlotter(bars))
	f.Text = strings.Join(texts, "; ") + " microseconds."
	f.draw(p)
	return f
}

// barsOf places a bar for each row that has a figure, with a gap between the groups.
func barsOf(groups []*group, look looks) (bars []bar, depth float64) {
	for _, g := range groups {
		had := len(bars)
		for _, r := range g.rows {
			v, ok := number(r.CPUPerRequest)
			if !ok {
				continue
			}
			depth++
			bars = append(bars, bar{g.name() + "  " + r.Client, v, cpuOfRounds(r), look.of(r.Client), depth - 0.5 + barGap/2})
		}
		if len(bars) > had {
			depth += barGap
		}
	}
	return bars, depth
}

func cpuOfRounds(r bench.Result) []float64 {
	var list []float64
	for _, s := range r.Samples {
		if x, ok := number(s.CPUPerRequest); ok {
			list = append(list, x)
		}
	}
	return list
}

// barPlotter draws bars that lie.
type barPlotter []bar

// Plot draws them.
func (bars barPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	half := (y(0) - y(-1)) * 0.36
	var label draw.TextStyle = p.X.Tick.Label
	label.XAlign, label.YAlign = draw.XRight, draw.YCenter
	for _, b := range bars {
		mid := y(-b.at)
		c.FillPolygon(b.look.color(), []vg.Point{{X: x(0), Y: mid - half}, {X: x(b.value), Y: mid - half}, {X: x(b.value), Y: mid + half}, {X: x(0), Y: mid + half}})
		for _, r := range b.rounds {
			at := vg.Point{X: x(r), Y: mid}
			c.DrawGlyph(draw.GlyphStyle{Color: inkOf(inkPaper), Radius: 3, Shape: draw.CircleGlyph{}}, at)
			c.DrawGlyph(draw.GlyphStyle{Color: inkOf(inkText), Radius: 2, Shape: draw.CircleGlyph{}}, at)
		}
		c.FillText(label, vg.Point{X: c.Max.X, Y: mid}, fixed(&b.value, 1))
	}
}
