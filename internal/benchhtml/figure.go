package benchhtml

import (
	"bytes"
	"html/template"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A figure is a plot with what belongs to it. One without an SVG has nothing to show.
type figure struct {
	ID     string
	Title  string
	Text   string // what the plot shows, for those who don't see it
	Note   string // how to read it
	Legend []key
	Width  int // of the SVG's own units
	Height int
	SVG    template.HTML // what is inside the svg element
}

// A key is a line of the legend.
type key struct {
	Name string
	Mark template.HTML
}

// The plots' width, and the height of those with one panel. The unit is about a pixel.
const (
	figureWidth  = 560
	figureHeight = 300
)

// draw puts plots of one width above each other into the figure. Heights are shares.
func (f *figure) draw(plots ...*plot.Plot) {
	c := vgsvg.NewWith(vgsvg.UseWH(vg.Length(f.Width), vg.Length(f.Height)))
	rows := make([][]*plot.Plot, len(plots))
	for i, p := range plots {
		rows[i] = []*plot.Plot{p}
	}
	tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadTop: 6, PadRight: 12, PadBottom: 2, PadLeft: 2, PadY: 8}
	for i, row := range plot.Align(rows, tiles, draw.New(c)) {
		plots[i].Draw(row[0])
	}
	var b bytes.Buffer
	_, _ = c.WriteTo(&b) // a buffer doesn't fail
	f.SVG = template.HTML(inner(b.String()))
}

// newPlot has axes in the page's inks.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.LineStyle = draw.LineStyle{Color: inkOf(inkAxis), Width: 0.75}
		a.Tick.LineStyle = a.LineStyle
		a.Tick.Length = 5
		a.Label.Padding = 4
		text(&a.Label.TextStyle, 11)
		text(&a.Tick.Label, 10)
	}
	p.Y.Tick.Label.XAlign = draw.XRight
	return p
}

// text sets a style's font, ink and size.
func text(s *draw.TextStyle, size vg.Length) {
	s.Font = font.From(face, size)
	s.Color = inkOf(inkText)
}

// grid draws a line at each labelled tick of the axes that have one.
type grid struct{ x, y bool }

// Plot draws it.
func (g grid) Plot(c draw.Canvas, p *plot.Plot) {
	style := draw.LineStyle{Color: inkOf(inkGrid), Width: 0.75}
	x, y := p.Transforms(&c)
	for _, t := range labelled(p.X) {
		if g.x {
			c.StrokeLine2(style, x(t), c.Min.Y, x(t), c.Max.Y)
		}
	}
	for _, t := range labelled(p.Y) {
		if g.y {
			c.StrokeLine2(style, c.Min.X, y(t), c.Max.X, y(t))
		}
	}
}

// labelled are the ticks of an axis that have a text.
func labelled(a plot.Axis) []float64 {
	var at []float64
	for _, t := range a.Tick.Marker.Ticks(a.Min, a.Max) {
		if t.Label != "" && t.Value >= a.Min && t.Value <= a.Max {
			at = append(at, t.Value)
		}
	}
	return at
}
