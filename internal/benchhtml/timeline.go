package benchhtml

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"example.com/connwise/bench"
)

// A panel is one of a timeline's plots: what is counted, of each row.
type panel struct {
	name   string
	counts func(*bench.Timeline) []int64
}

var panels = []panel{
	{"answers", func(t *bench.Timeline) []int64 { return t.Done }},
	{"failed", func(t *bench.Timeline) []int64 { return t.Failed }},
	{"dials", func(t *bench.Timeline) []int64 { return t.Dials }},
}

// timeline plots what happened in each stretch of the rounds: answers, failures and dials above
// each other.
func timeline(g *group, look looks) figure {
	f := figure{
		Title: fmt.Sprintf("%s over %s: answers, failures and dials in time", g.scenario, g.name()),
		Width: figureWidth, Height: figureHeight + 80,
	}
	var rows []bench.Result
	end, bin, rounds := 0.0, 0.0, 0
	var texts []string
	for _, r := range g.rows {
		t := r.Timeline
		if t == nil || len(t.Done) == 0 || !(t.BinMillis >= 1e-3 && t.BinMillis <= mostDrawn) {
			continue
		}
		rows = append(rows, r)
		end, bin, rounds = max(end, t.BinMillis*float64(len(t.Done))), t.BinMillis, len(r.Samples)
		f.Legend = append(f.Legend, key{r.Client, look.of(r.Client).mark()})
		texts = append(texts, timelineText(r))
	}
	if len(rows) == 0 {
		return figure{}
	}
	f.Text = strings.Join(texts, "; ") + "."
	f.Note = fmt.Sprintf("Counts in each %s ms from the beginning of a round%s.", plain(bin), laid(rounds))
	var plots []*plot.Plot
	for i, pan := range panels {
		p := pan.plot(rows, look, end)
		if i == len(panels)-1 {
			p.X.Label.Text = "time in the round"
		} else {
			blank(&p.X)
		}
		plots = append(plots, p)
	}
	f.draw(plots...)
	return f
}

func laid(rounds int) string {
	if rounds < 2 {
		return ""
	}
	return fmt.Sprintf("; the %d rounds are laid over each other", rounds)
}

func (pan panel) plot(rows []bench.Result, look looks, end float64) *plot.Plot {
	p := newPlot()
	p.Add(grid{y: true})
	most := 0.0
	for _, r := range rows {
		steps := stepPoints(pan.counts(r.Timeline), r.Timeline.BinMillis)
		for _, xy := range steps {
			most = max(most, xy.Y)
		}
		style := look.of(r.Client).line()
		style.Width = 1.25
		p.Add(&plotter.Line{XYs: steps, LineStyle: style, StepStyle: plotter.PostStep})
	}
	timeAxis(&p.X, end)
	linear(&p.Y, most, 3, true)
	p.Y.Label.Text = pan.name
	return p
}

// stepPoints has a point at the beginning of each stretch, and one at the end of the last.
// Between equals there is none, which keeps the page small.
func stepPoints(counts []int64, bin float64) plotter.XYs {
	var xys plotter.XYs
	for i, n := range counts {
		if i == 0 || n != counts[i-1] {
			xys = append(xys, plotter.XY{X: float64(i) * bin, Y: float64(max(n, 0))})
		}
	}
	if len(counts) > 0 {
		xys = append(xys, plotter.XY{X: float64(len(counts)) * bin, Y: xys[len(xys)-1].Y})
	}
	return xys
}

// timeAxis is of milliseconds, or of seconds where there are many.
func timeAxis(a *plot.Axis, end float64) {
	linear(a, end, 8, false)
	a.Max = end // no empty end, and a tick beyond isn't drawn
	ticks := a.Tick.Marker.(plot.ConstantTicks)
	for i, t := range ticks {
		if end >= 2000 {
			ticks[i].Label = plain(t.Value/1000) + " s"
		} else {
			ticks[i].Label = plain(t.Value) + " ms"
		}
	}
}

// blank takes the texts from an axis that has the same as the one below.
func blank(a *plot.Axis) {
	ticks := a.Tick.Marker.(plot.ConstantTicks)
	for i := range ticks {
		ticks[i].Label = " "
	}
	a.Tick.Label.Font.Size = 1
}

func timelineText(r bench.Result) string {
	var parts []string
	for _, pan := range panels {
		total, most := int64(0), int64(0)
		for _, n := range pan.counts(r.Timeline) {
			total, most = total+n, max(most, n)
		}
		parts = append(parts, fmt.Sprintf("%s %s, at most %s at once", count(&total), pan.name, count(&most)))
	}
	return r.Client + ": " + strings.Join(parts, "; ")
}
